from indexer.core.pairs import *
