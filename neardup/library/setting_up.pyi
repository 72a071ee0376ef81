from indexer.library.setting_up import *
