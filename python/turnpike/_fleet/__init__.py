"""`turnpike fleet RUNS...`: what sets single ranks of a large job apart from the others.

rollups.py makes the roll-ups of runs (`turnpike rollup`, a process for each file); figures.py asks DuckDB for one
figure a rank; cohorts.py says which ranks do the same; outliers.py which of these differ, by the constants of
thresholds.py; times.py and places.py have what is looked for; text.py and command.py print it.
"""

from __future__ import annotations

from collections.abc import Sequence


def is_ours(arguments: Sequence[str]) -> bool:
    """Whether these arguments of `turnpike` are for this package."""
    return list(arguments[:1]) == ["fleet"]
