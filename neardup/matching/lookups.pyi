from indexer.matching.lookups import *
