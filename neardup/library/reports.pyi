from indexer.library.reports import *
