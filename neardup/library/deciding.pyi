from indexer.library.deciding import *
