"""The pages whose numbers are checked."""

import re

from . import golden

FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
# What other scripts write into pages has tests of its own.
GENERATED = re.compile(r"<!-- (same-as-pytorch|cost model): begin -->.*?<!-- \1: end -->", re.DOTALL)


def pages(root=golden.ROOT):
    found = [root / "README.md", *(root / "docs").rglob("*.md"), *(root / "bench").rglob("README.md")]
    return sorted(path for path in found if path != root / "bench/results/README.md")
