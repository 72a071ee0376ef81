from indexer.text.excerpts import *
