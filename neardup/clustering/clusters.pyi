from indexer.clustering.clusters import *
