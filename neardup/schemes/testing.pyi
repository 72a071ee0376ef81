from indexer.schemes.testing import *
