from indexer.library.statistics import *
