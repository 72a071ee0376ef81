"""The API for programs: collections in stores, and functions that need no store; thin above the other packages."""
