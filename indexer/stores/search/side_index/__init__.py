"""The indices beside a store's own: what they hold, and how it is read and written."""
