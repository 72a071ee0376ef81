from indexer.report.figures import *
