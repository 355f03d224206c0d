"""`turnpike fleet RUNS...`: what sets single ranks of a large job apart from the others.

rollups.py makes the roll-ups of runs (`turnpike rollup`, a process for each file); figures.py asks DuckDB for one
figure a rank; outliers.py says which ranks differ; findings.py has what is looked for; text.py and command.py print it.
"""

from __future__ import annotations

from collections.abc import Sequence


def is_ours(arguments: Sequence[str]) -> bool:
    """Whether these arguments of `turnpike` are for this package."""
    return list(arguments[:1]) == ["fleet"]
