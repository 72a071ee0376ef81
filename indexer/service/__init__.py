"""Questions over HTTP, answered without writing anything."""
