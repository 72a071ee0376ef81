from indexer.library.repetition import *
