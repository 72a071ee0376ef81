from indexer.library.engine_options import *
