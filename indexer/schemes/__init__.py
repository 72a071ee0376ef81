"""The schemes: each turns text into a fingerprint and a fingerprint into keys."""
