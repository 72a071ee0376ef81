from indexer.library.folding import *
