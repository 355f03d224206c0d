"""Text for people from names that recordings hold: src/base/cleaned_text.h in Python."""

from __future__ import annotations

import re

# What GitHub's runner obeys in the log of a job: "::" where a line may begin, "##[" anywhere.
_COMMAND = re.compile(r"(?<!\S):(?=:)|#(?=#\[)")


def printable(text: str) -> str:
    """Without what a terminal or the runner of a job would obey."""
    shown = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
    return _COMMAND.sub(lambda found: f"\\x{ord(found[0]):02x}", shown)
