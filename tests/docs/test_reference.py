"""The reference names everything: each command, each public name, each rule."""

import pathlib
import re
import subprocess

import turnpike as tp

ROOT = pathlib.Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"


def test_the_python_page_names_every_public_name():
    found = re.findall(r"^::: turnpike\.(\w+)$", (REFERENCE / "python.md").read_text(), re.MULTILINE)
    assert sorted(found) == sorted(set(tp.__all__) - {"__version__"})


def test_the_page_of_commands_has_a_section_for_each(turnpike):
    text = (REFERENCE / "command_line.md").read_text()
    printed = subprocess.run([turnpike, "--help"], capture_output=True, text=True, check=True).stdout
    listed = re.findall(r"^  (\w+) ", printed.partition("Subcommands:")[2].partition("Examples:")[0], re.MULTILINE)
    assert len(listed) > 7
    sections = re.findall(r"^## turnpike ([\w ]+)\n\n<!-- help: turnpike \1 -->$", text, re.MULTILINE)
    assert sections == [*listed, "bench link"]
