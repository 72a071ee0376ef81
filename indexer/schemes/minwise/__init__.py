"""The common parts of the schemes of minimum-wise samples."""
