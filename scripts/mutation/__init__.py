"""Mutation testing of Turnpike: do the tests notice when the program is wrong? scripts/mutate is the command."""
