"""The API for programs: collections in stores, and functions without a store; thin above the other packages."""
