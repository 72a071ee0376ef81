from indexer.library.texts import *
