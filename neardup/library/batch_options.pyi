from indexer.library.batch_options import *
