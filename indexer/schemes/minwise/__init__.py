"""What the schemes of minimum-wise samples share."""
