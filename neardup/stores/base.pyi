from indexer.stores.base import *
