from indexer.batch import *
