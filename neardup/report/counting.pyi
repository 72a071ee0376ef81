from indexer.report.counting import *
