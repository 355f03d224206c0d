"""Every measured number of a page stands in its result file, or says why it has none.

bench/figures has a file for each page. A figure gives words of the page with {} for each number, the result file, and
an expression for each number; `where` holds for all rows of the entry:

    page = "docs/howto/slow_upload.md"

    [[figure]]
    file = "move-h100.json"
    where = { case = "pageable, 1 GiB", metric = "rate" }
    words = "uploads at {} GB/s (`.to()`: {})"
    values = ["at(way='Turnpike')", "at(way='PyTorch .to')"]

An expression is Python: row(...) is the one row with these values, its fields are attributes; at(...) is its value;
ci(...) its value and its interval, three numbers; rows(...) are all such rows, file is the whole file. A list stands
for several numbers.

A table whose rows are rows of one file, alike but for a name, is one entry: `head` are the words of its first line;
an expression for each column after the first sees the first cell as `name` (by `names` if that has it), its own as
`cell` and those after the first as `cells`. "" is not checked; "name" says what the row is about, like the first cell:

    [[table]]
    file = "whatif-h100.json"
    head = "| pair | as it is | fixed |"
    columns = ["row(case=name).measured_as_is", "row(case=name).measured_fixed"]

A number that no figure covers stands with its words under [[other]], with a reason: see REASONS of entry_checks.
Instead of the words, `table` may give the head of a whole table.
"""

import re

import tomllib

from . import blocks, golden, measured, numbers, pages
from .entry_checks import figure_mistakes, other_mistakes, pattern, table_mistakes

FOLDER = golden.ROOT / "bench" / "figures"


def entries(folder=FOLDER):
    """By page, what bench/figures says of it."""
    found = [tomllib.loads(path.read_text()) for path in sorted(folder.glob("*.toml"))]
    return {one["page"]: one for one in found}


def page_mistakes(text, entry, result_of=blocks.result, root=golden.ROOT):
    """What is wrong with the numbers of a page. entry: what bench/figures says of it."""
    line = checked_part(text)
    wrong, covered = compared(line, entry, result_of, root)
    quoted = {one["file"] for one in [*entry.get("figure", []), *entry.get("table", [])]}
    lacking = sorted(quoted - blocks.named(text))
    wrong += [f"no comment <!-- measured: {name} --> gives its date" for name in lacking]
    for start, end in uncovered(line, covered):
        around = f"{line[max(0, start - 50) : start]}[{line[start:end]}]{line[end : end + 30]}"
        wrong.append(f"bench/figures does not say where this number is from: {around}")
    return [" ".join(what.split()) for what in wrong]


def checked_part(text):
    """A page without what is written from results, as numbers.in_one_line."""
    return numbers.in_one_line(pages.GENERATED.sub("", blocks.without(text)))


def compared(line, entry, result_of=blocks.result, root=golden.ROOT):
    """The mistakes in the entries of a page, and the positions of the numbers that they cover."""
    checks = [figure_mistakes(one, line, result_of) for one in entry.get("figure", [])]
    checks += [table_mistakes(one, line, result_of) for one in entry.get("table", [])]
    checks += [other_mistakes(one, line, root) for one in entry.get("other", [])]
    return [what for wrong, _ in checks for what in wrong], [span for _, spans in checks for span in spans]


def uncovered(line, covered):
    return [
        (start, end)
        for start, end in numbers.measured(line)
        if not any(first <= start and end <= last for first, last in covered)
    ]


def mistakes(root=golden.ROOT):
    known = entries()
    there = {str(page.relative_to(root)): page for page in pages.pages(root)}
    wrong = [f"bench/figures: there is no page {name}" for name in known if name not in there]
    for name, page in there.items():
        wrong += [f"{name}: {what}" for what in page_mistakes(page.read_text(), known.get(name, {}))]
    return wrong


def rewritten(changed, root=golden.ROOT):
    """By path, the text of each page as it must be, with what is written from results. changed: see blocks."""
    found = {page: blocks.rewritten(page.read_text(), page.relative_to(root), changed) for page in pages.pages(root)}
    if changed is not None:
        found[root / measured.RESULTS / "README.md"] = measured.readme(changed, root)
    return found


def stale(changed, root=golden.ROOT):
    return [page for page, text in rewritten(changed, root).items() if not page.exists() or page.read_text() != text]


def update(changed, root=golden.ROOT):
    found, texts = stale(changed, root), rewritten(changed, root)
    for page in found:
        page.write_text(texts[page])
    return found


def missing_entries(root=golden.ROOT):
    """By page, an entry to fill in for each number that has none."""
    known, found = entries(), {}
    for page in pages.pages(root):
        name = str(page.relative_to(root))
        line = checked_part(page.read_text())
        places = uncovered(line, compared(line, known.get(name, {}))[1])
        found[name] = [f'[[other]]\nreason = ""\nwords = """{words_around(line, *place)}"""\n' for place in places]
    return {name: texts for name, texts in found.items() if texts}


def words_around(line, start, end):
    """As few words around a number as stand in the page once."""
    before, after = list(re.finditer(r"\S+", line[:start])), list(re.finditer(r"\S+", line[end:]))
    for count in range(4, 40):
        first = before[-count].start() if count <= len(before) else 0
        last = end + after[min(count // 2, len(after) - 1)].end() if after else end
        words = " ".join(line[first:last].split())
        if len(list(pattern(words).finditer(line))) == 1:
            return words
    raise ValueError(f"no words around this number stand in the page once: {line[start - 50 : end + 50]}")
