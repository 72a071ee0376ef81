from indexer.schemes.joins import *
