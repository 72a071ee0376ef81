"""The order in time of versions of a work, by the documents' own declarations."""
