from indexer.library.removals import *
