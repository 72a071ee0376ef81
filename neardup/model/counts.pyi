from indexer.model.counts import *
