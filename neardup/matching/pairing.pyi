from indexer.matching.pairing import *
