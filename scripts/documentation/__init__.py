"""The documentation site: generated pages, pictures and the command that builds it."""
