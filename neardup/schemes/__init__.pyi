from indexer.schemes import *
