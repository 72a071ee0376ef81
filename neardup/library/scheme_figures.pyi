from indexer.library.scheme_figures import *
