from indexer.text.differences import *
