"""How scripts/wheels builds wheels that run with an old glibc, for this processor and for others."""
