from indexer.library.surplus import *
