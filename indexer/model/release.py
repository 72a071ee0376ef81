"""The version of this package, as stores and reports note it."""

VERSION = "0.1.0"
