from indexer.cli import *
