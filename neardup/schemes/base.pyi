from indexer.schemes.base import *
