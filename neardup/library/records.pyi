from indexer.library.records import *
