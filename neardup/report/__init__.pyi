from indexer.report import *
