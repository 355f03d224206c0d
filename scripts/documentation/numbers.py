"""Finds the measured numbers of a page: those with a unit or an interval, and decimals alone in the cell of a table."""

import re

from .pages import FENCED

UNIT = r"(?:%|(?:ms|us|ns|s|milliseconds|seconds|[GMk]B/s|[GMk]B|times)(?![\w/]))"
PLAIN = r"\d[\d,]*(?<!,)(?:\.\d+)?"
NUMBER = rf"(?<![\w.,/^-])-?{PLAIN}(?![\w^])"
BETWEEN = r"(?: and | to | or | instead of |, |-)"
KINDS = [
    # "5 %", "1.06 to 1.25 times", "0.5-2 us"
    re.compile(rf"{NUMBER}(?=(?:{BETWEEN}-?{PLAIN})*\s?{UNIT})"),
    re.compile(rf"(?<=\d-){PLAIN}(?=\s?{UNIT})"),
    # "1.12 (1.07-1.22)", "7.3 s (5.6 to 10.6)"
    re.compile(rf"{NUMBER}(?= \(-?{PLAIN}(?:-| to )-?{PLAIN}\))"),
    re.compile(rf"\((-?{PLAIN})(?:-| to )(-?{PLAIN})(?=[),])"),
    # "| 0.92 |": without a point it may as well be a count
    re.compile(r"(?<=\| )-?\d[\d,]*\.\d+(?= \|)"),
]
INLINE = re.compile(r"`[^`\n]*`")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def in_one_line(text):
    """The prose of a page in one line up to each table, whose rows are lines; without code blocks and comments."""
    lines = [""]
    for line in COMMENT.sub("", FENCED.sub("", text)).splitlines():
        words = " ".join(line.split())
        if words.startswith("|") or lines[-1].startswith("|"):
            lines.append(words)
        elif words:
            lines[-1] += f" {words}"
    return "\n".join(lines)


def measured(line):
    """The positions of the measured numbers in a text, as (start, end). Numbers in `code` do not count."""
    masked = INLINE.sub(lambda code: "`" * len(code[0]), line)
    found = [one for kind in KINDS for one in kind.finditer(masked)]
    return sorted({one.span(group) for one in found for group in range(1, one.re.groups + 1) or [0]})


def shown(text):
    """A number as it stands in a page, and half of its last digit: 1,234 or 0.92."""
    digits = text.replace(",", "")
    return float(digits), 0.5 * 10 ** -len(digits.partition(".")[2])
