from indexer.library.batch_outcomes import *
