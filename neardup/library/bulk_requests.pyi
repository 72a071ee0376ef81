from indexer.library.bulk_requests import *
