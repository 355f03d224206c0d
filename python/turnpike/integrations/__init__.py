"""Turnpike inside of frameworks: a module for each, which imports it. `turnpike` itself imports none of them.

`turnpike.integrations.lightning`, `.transformers` and `.ray`.
"""
