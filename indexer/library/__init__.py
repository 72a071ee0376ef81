"""The API for programs, thin above the other packages."""
