from indexer.batch.spark import *
