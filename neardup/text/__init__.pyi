from indexer.text import *
