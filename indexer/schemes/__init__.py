"""The schemes: text to fingerprint, fingerprint to keys."""
