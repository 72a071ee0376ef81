from indexer.library.histories import *
