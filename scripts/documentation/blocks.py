"""Parts of a page that `scripts/docs --results` writes from result files.

A comment says what stands below it, up to the next empty line:

    <!-- measured: move-h100.json move-h100x2.json -->
    <!-- cost: cost-h100.json full: mnist_64, hf_trainer -->
    <!-- losing: move-h100.json -->

The first is a sentence with the dates, and says whether the code has changed since; the second is a table of rows of
bench/cost, of all programs if it names none; the third has the cases of `turnpike bench` in which Turnpike loses.
"""

import json
import re
import textwrap

from . import cost_table, golden, losing_table, measured

RESULTS = golden.ROOT / "bench" / "results"
BLOCK = re.compile(r"^<!-- (measured|cost|losing): (.+?) -->\n\n(.*?)(?=\n\n|\n?\Z)", re.MULTILINE | re.DOTALL)
COST = re.compile(r"(?P<file>\S+) (?P<detail>transfers|full)(?:: (?P<programs>.+))?")


def result(name):
    return json.loads((RESULTS / name).read_text())


def rewritten(text, page, changed):
    """The page with its blocks written anew. changed: the result files whose code has changed since; None: not known,
    so sentences about it are left as they are."""
    return BLOCK.sub(lambda found: found[0][: found.start(3) - found.start()] + block(found, page, changed), text)


def block(found, page, changed):
    if found[1] == "cost":
        asked = COST.fullmatch(found[2])
        if not asked:
            raise ValueError(f"{page}: cannot read this: <!-- cost: {found[2]} -->")
        return cost_table.table(result(asked["file"])["rows"], asked["detail"], (asked["programs"] or "").split(", "))
    if found[1] == "losing":
        return losing_table.table(result(found[2])["rows"])
    if changed is None:
        return found[3]
    dates = {name: result(name)["date"][:10] for name in found[2].split()}
    return textwrap.fill(measured.sentence(dates, changed), 100, break_on_hyphens=False, break_long_words=False)


def named(text):
    """The result files whose dates a page gives."""
    return {name for kind, what, _ in BLOCK.findall(text) if kind == "measured" for name in what.split()}


def without(text):
    """A page without what is written from result files."""
    return BLOCK.sub("", text)
