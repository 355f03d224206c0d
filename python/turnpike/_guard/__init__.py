"""Raises an exception at the line that moves data or waits, before it happens: `tp.guard`, `tp.allow`."""
