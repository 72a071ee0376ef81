from indexer.model.findings import *
