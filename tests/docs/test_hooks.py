"""Links of the pages on the site, and the pages that are generated for them."""

import pytest
from documentation import command, golden, hooks


@pytest.mark.parametrize(
    ("link", "origin", "uri", "expected"),
    [
        ("report.md#steps", "docs/diff.md", "diff.md", "report.md#steps"),
        ("../src/README.md", "docs/architecture.md", "architecture.md", "repository/src/README.md"),
        ("../../examples/train_before.py", "docs/rules/README.md", "rules/README.md",
         "../repository/examples/train_before.py.md"),
        ("docs/move.md#settings", "README.md", "repository/README.md", "../move.md#settings"),
        ("tests/gpu/crossings", "README.md", "repository/README.md", "tests/gpu/crossings/README.md"),
        ("https://example.org/x.md", "docs/diff.md", "diff.md", "https://example.org/x.md"),
        ("#steps", "docs/report.md", "report.md", "#steps"),
    ],
)  # fmt: skip
def test_a_link_leads_to_the_same_file_on_the_site(link, origin, uri, expected):
    found = hooks.LINK.search(f"[text]({link})")
    assert hooks.site_link(found, origin, uri) == f"[text]({expected})"


def test_code_is_left_as_it_is():
    text = "[a](b)\n```\n[a](b)\n```\n[a](b)\n"
    assert hooks.outside_code(text, lambda prose: prose.replace("b", "c")) == "[a](c)\n```\n[a](b)\n```\n[a](c)\n"


def test_source_files_become_pages_and_folders_lists():
    assert hooks.content_of("VERSION").startswith("# VERSION\n\n```\n")
    assert "```python\n" in hooks.content_of("examples/train_before.py")
    assert "\nitem.py\n" in hooks.content_of("tests/gpu/crossings/programs")


def test_what_a_page_loads_from_another_host_is_found(tmp_path):
    (tmp_path / "page.html").write_text(
        '<a href="https://example.org/">a link is fine</a><link href="https://fonts.example/x.css" rel="stylesheet">'
        '<script src="//cdn.example/x.js"></script><img src="pictures/report.svg">'
    )
    (tmp_path / "x.css").write_text("@import url(https://fonts.example/y.css); a { color: red }")
    assert command.loads_from_elsewhere(tmp_path) == [
        "page.html: //cdn.example/x.js",
        "page.html: https://fonts.example/x.css",
        "x.css: https://fonts.example/y.css",
    ]


@pytest.mark.parametrize(("page", "is_fine"), [("# A\n\n[here](#a)\n", True), ("# A\n\n[nowhere](#b)\n", False)])
def test_a_mistake_in_a_page_fails_the_build(page, is_fine, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "README.md").write_text(page)
    hook, extension = (f"{golden.ROOT}/scripts/documentation/{name}.py" for name in ("hooks", "report_fields"))
    config = (golden.ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[0]
    config = config.replace("scripts/documentation/hooks.py", hook)
    config = config.replace("scripts/documentation/report_fields.py", extension)
    (tmp_path / "mkdocs.yml").write_text(config.replace("[python]", f"[{golden.ROOT}/python]"))
    assert (command.build(tmp_path / "mkdocs.yml", tmp_path / "site") == 0) == is_fine
