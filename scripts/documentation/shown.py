"""The outputs and excerpts in the pages, kept as what the program prints and what the files say.

A comment before a code block names its source; `scripts/docs --update` fills in the block:

    <!-- shows: turnpike report before.tpk [VERDICT, WHAT TO DO] exits 0 -->
    <!-- lines: examples/train_before.py "for step" to "return history" -->

The commands of a page run one after another in one folder, so a file that one writes is there for the next.
"""

import re

from . import golden

PAGES = sorted((golden.ROOT / "docs").rglob("*.md"))
BLOCK = re.compile(r"^(<!-- (shows|lines): (.*?) -->\n)```\w*\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
SHOWS = re.compile(r"(?P<command>turnpike [^\[]*?)(?: \[(?P<sections>[^\]]+)\])?(?: exits (?P<code>\d))?")
LINES = re.compile(r'(?P<file>\S+) "(?P<first>[^"]+)" to "(?P<last>[^"]+)"')


def rewritten(text):
    """A page with its blocks written anew."""
    count = len(BLOCK.findall(text))
    if count != len(re.findall(r"<!-- (?:shows|lines): ", text)):
        raise ValueError("a comment that says what a block shows must stand on the line before the block")
    if count == 0:
        return text
    with golden.folder() as folder:
        return BLOCK.sub(lambda found: found[1] + block(found[2], found[3], folder), text)


def block(kind, what, folder):
    return output(what, folder) if kind == "shows" else excerpt(what)


def output(what, folder):
    asked = SHOWS.fullmatch(what)
    if not asked:
        raise ValueError(f"cannot read this: <!-- shows: {what} -->")
    result = golden.run(asked["command"], folder)
    if result.exit_code != int(asked["code"] or 0):
        raise ValueError(f"{asked['command']} exits {result.exit_code}:\n{result.text}")
    names = [name.strip() for name in (asked["sections"] or "").split(",") if name.strip()]
    lines = golden.sections(result.text, names) if result.text else []
    return "\n".join(["```console", f"$ {asked['command']}", *lines, "```", ""])


def excerpt(what):
    asked = LINES.fullmatch(what)
    if not asked:
        raise ValueError(f"cannot read this: <!-- lines: {what} -->")
    lines = (golden.ROOT / asked["file"]).read_text().splitlines()
    first = next(index for index, line in enumerate(lines) if asked["first"] in line)
    last = next(index for index, line in enumerate(lines) if index >= first and asked["last"] in line)
    found = lines[first : last + 1]
    indent = min(len(line) - len(line.lstrip()) for line in found if line.strip())
    language = "toml" if asked["file"].endswith(".toml") else "python"
    return "\n".join([f"```{language}", *(line[indent:] for line in found), "```", ""])


def stale():
    return [page for page in PAGES if rewritten(page.read_text()) != page.read_text()]


def update():
    found = stale()
    for page in found:
        page.write_text(rewritten(page.read_text()))
    return found
