from indexer.library.batches import *
