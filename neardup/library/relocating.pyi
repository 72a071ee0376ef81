from indexer.library.relocating import *
