from indexer.library import *
