from indexer.library.annotating import *
