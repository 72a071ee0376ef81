from indexer.schemes.minwise.scheme import *
