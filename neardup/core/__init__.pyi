from indexer.core import *
