from indexer.library.resting import *
