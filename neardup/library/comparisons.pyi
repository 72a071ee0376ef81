from indexer.library.comparisons import *
