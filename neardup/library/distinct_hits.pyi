from indexer.library.distinct_hits import *
