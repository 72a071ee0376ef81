from indexer.core.hamming import *
