from indexer.schemes.minwise import *
