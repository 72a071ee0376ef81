from indexer.library.outcomes import *
