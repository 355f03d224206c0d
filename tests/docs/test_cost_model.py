"""The table of docs/whatif.md holds every figure of src/analyze/cost_model.h, with the same words."""

import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
HEADER = ROOT / "src/analyze/cost_model.h"
PAGE = ROOT / "docs/whatif.md"
BEGIN = "<!-- cost model: begin -->\n"
END = "<!-- cost model: end -->"


def value_of(text):
    """As the page writes it: 32 << 20 is 33554432."""
    text = text.replace("'", "")
    if "<<" in text:
        number, shift = text.split("<<")
        return f"{int(number) << int(shift):,}"
    return text if "." in text else f"{int(text):,}"


def rows():
    text = HEADER.read_text()
    entry = re.compile(r"// ([^\n;]+(?:\n// [^\n;]+)*); ([^;]+); ([^;]+)\ninline constexpr \S+ (k\w+) = ([^;]+);")
    found = {}
    for meaning, unit, source, name, value in entry.findall(text):
        is_h100 = source.endswith("[H100]")
        source = " ".join(source.replace("[H100]", "").replace("\n// ", " ").split()).removeprefix("from ")
        meaning = meaning.replace("\n// ", " ")
        found[name] = f"| {meaning} | {value_of(value)} {unit} | {source} | {'H100' if is_h100 else ''} | `{name}` |"
    return found


def table():
    head = "| what | value | where it comes from | of | name |\n|---|---|---|---|---|\n"
    return head + "".join(row + "\n" for row in rows().values())


def test_every_constant_says_what_it_is_its_unit_and_its_source():
    constants = re.findall(r"inline constexpr \S+ (k\w+)", HEADER.read_text())
    assert len(constants) > 30
    assert constants == list(rows())


def test_the_page_has_the_table():
    page = PAGE.read_text()
    assert page.count(BEGIN) == 1 and page.count(END) == 1
    written = page.split(BEGIN)[1].split(END)[0].strip()
    assert written == table().strip(), "write this into docs/whatif.md:\n" + table()


def test_no_other_file_of_the_analysis_defines_one():
    names = "|".join(rows())
    for path in sorted((ROOT / "src/analyze").rglob("*.[ch]*")):
        if path != HEADER:
            assert not re.search(rf"constexpr \S+ ({names})\b", path.read_text()), path
