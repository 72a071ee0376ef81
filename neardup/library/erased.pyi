from indexer.library.erased import *
