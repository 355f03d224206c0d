"""The Markdown pages: every link leads somewhere, no prose line is too long, and each rule has its page."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = 100
FOLDERS = ("bench", "docs", "examples", "fuzz", "src", "tests")
PAGES = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))])
WRAPPED = [
    page
    for page in PAGES
    if str(page.relative_to(ROOT)) in ("README.md", "CONTRIBUTING.md", "src/README.md") or ROOT / "docs" in page.parents
]
GENERATED = re.compile(r"<!-- [\w-]+: begin -->.*?<!-- [\w-]+: end -->", re.DOTALL)


def named(page):
    return str(page.relative_to(ROOT))


def without_code(text):
    """The lines of a page; those of code blocks are empty."""
    is_code, lines = False, []
    for line in text.splitlines():
        is_fence = line.lstrip().startswith("```")
        lines.append("" if is_code or is_fence else line)
        is_code ^= is_fence
    return lines


def anchors_of(text):
    """The anchors that GitHub gives the headings of a page."""
    anchors, seen = set(), {}
    for line in without_code(text):
        if heading := re.match(r"#+ (.+)", line):
            slug = re.sub(r"[^\w\- ]", "", heading[1].strip().lower()).replace(" ", "-")
            count = seen[slug] = seen.get(slug, -1) + 1
            anchors.add(slug if count == 0 else f"{slug}-{count}")
    return anchors


def links_of(text):
    prose = re.sub(r"`[^`\n]*`(?!\])", "", "\n".join(without_code(text)))
    return [target for target in re.findall(r"\]\(([^)\s]+)\)", prose) if not re.match(r"\w+:", target)]


def broken_links(page):
    broken = []
    for link in links_of(page.read_text()):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors_of(target.read_text())):
            broken.append(link)
    return broken


def long_lines(text):
    """The numbers of the lines of prose that are too long. A line that no space can break, such as a link, may be;
    so may rows of tables, pictures and comments."""
    text = GENERATED.sub(lambda found: "\n" * found[0].count("\n"), text)
    return [
        number
        for number, line in enumerate(without_code(text), 1)
        if len(line) > COLUMNS and not line.lstrip().startswith(("|", "![", "<!--")) and " " in line.strip(" -")
    ]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_relative_link_leads_somewhere(page):
    assert broken_links(page) == []


@pytest.mark.parametrize("page", WRAPPED, ids=named)
def test_prose_is_wrapped(page):
    assert long_lines(page.read_text()) == []


def test_the_checks_find_what_they_look_for(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A *heading*: it's here\n[a](#a-heading-its-here) [b](#nowhere) [c](missing.md) [d](https://example.org)\n"
        "```\n# No heading\n[e](missing.md)\n```\n[`f`](page.md#no-heading)\n"
    )
    assert broken_links(page) == ["#nowhere", "missing.md", "page.md#no-heading"]
    words = "word " * 30
    assert long_lines(f"{words}\n| {words}\n```\n{words}\n```\n- {words}\n{'x' * 200}\n") == [1, 6]
    assert long_lines(f"<!-- t: begin -->\n{words}\n<!-- t: end -->\n{words}\n") == [4]


def test_each_rule_has_a_page_and_a_row_and_each_page_a_rule():
    folder = ROOT / "docs" / "rules"
    rules = set(re.findall(r"^void find_(\w+)\(", (ROOT / "src/analyze/rules/rules.h").read_text(), re.MULTILINE))
    assert len(rules) > 10
    assert {page.stem for page in folder.glob("*.md")} - {"README"} == rules
    rows = re.findall(r"^\| \[(\w+)\]\((\w+)\.md\)", (folder / "README.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted((rule, rule) for rule in rules)
    for rule in rules:
        assert (folder / f"{rule}.md").read_text().startswith(f"# {rule}: ")
