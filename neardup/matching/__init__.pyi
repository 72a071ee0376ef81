from indexer.matching import *
