from indexer.library.examining import *
