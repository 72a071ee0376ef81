from indexer.core.sketches import *
