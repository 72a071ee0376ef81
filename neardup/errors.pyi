from indexer.errors import *
