from indexer.clustering import *
