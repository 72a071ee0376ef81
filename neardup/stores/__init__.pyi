from indexer.stores import *
