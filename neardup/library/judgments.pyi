from indexer.library.judgments import *
