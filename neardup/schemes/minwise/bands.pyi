from indexer.schemes.minwise.bands import *
