"""Every constant by which `turnpike fleet` decides. docs/howto/many_gpus.md has the same, and a test compares them."""

from __future__ import annotations

# Of healthy fleets, in so many at most is anything reported: over all ranks, places and rules together.
FALSE_ALARMS = 0.05
# Usual differences between ranks are taken to have a tail as heavy as Student's t with so many degrees of freedom,
# unless the ranks themselves show that theirs is lighter; then the next one of these.
FREEDOM = (3, 4, 6, 10, 30)
# Ranks, or hosts; the spread of fewer is not known.
FEWEST = 4
# What differs by less is not reported, however sure it is. A part of the median; of the bytes for the two rules about
# host memory.
LEAST = {
    "slow_rank": 0.05,
    "drift": 0.10,
    "slow_link": 0.15,
    "wrong_pinning": 0.50,
    "wrong_numa_node": 0.50,
    "diverging_code": 0.20,
    "uneven_bytes": 0.20,
}
# What a finding may be.
RULES = tuple(LEAST)
# Ranks do the same if the numbers of their kernels, collectives, sends and receives a step differ by less than this
# part, or by less than so many a step. Ranks with 2 % more kernels do less than the least of slow_rank more work.
SAME_WORK = 0.02
SAME_COUNT = 0.5
# A host is named instead of its ranks when at least so many of them differ.
MOST_OF_HOST = 0.75
