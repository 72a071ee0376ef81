from indexer.library.rows import *
