from indexer.library.options import *
