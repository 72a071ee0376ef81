"""Setting up a cluster, and taking that away again."""

from __future__ import annotations

from indexer.stores.mapping import mappings_directory as mappings_directory
