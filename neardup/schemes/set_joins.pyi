from indexer.schemes.set_joins import *
