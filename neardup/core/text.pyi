from indexer.core.text import *
