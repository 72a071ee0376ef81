from indexer.model import *
