from indexer.batch.spark.tables import *
