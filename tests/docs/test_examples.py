"""The examples in the pages: Python compiles and names what exists, and commands have the options that they name."""

import ast
import functools
import pathlib
import re
import shlex
import subprocess
import textwrap

import pytest

import turnpike as tp
from turnpike._bench import command as bench
from turnpike._fleet import command as fleet

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "bench/whatif/README.md"])
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(turnpike [^`]+)`")
NOT_OURS = re.compile(r"[A-Z|.\[]")


def named(page):
    return str(page.relative_to(ROOT))


def blocks(text, *languages):
    return [textwrap.dedent(code) for _, language, code in BLOCK.findall(text) if language in languages]


def commands(text):
    """The command lines of `turnpike` in the shell blocks and in the prose of a page."""
    lines = [line for code in blocks(text, "", "sh") for line in code.splitlines()]
    lines += [line for code in blocks(text, "console") for line in code.splitlines() if line.startswith("$ ")]
    prose = re.sub(r"\s+", " ", BLOCK.sub("", text))
    # An explanation stands behind two spaces.
    found = [re.split(r"\s{2,}|\s#", line.removeprefix("$ "), maxsplit=1)[0] for line in lines]
    return [line for line in [*found, *INLINE.findall(prose)] if line.startswith("turnpike ")]


@functools.cache
def help_of(turnpike, *names):
    return subprocess.run([turnpike, *names, "--help"], capture_output=True, text=True, check=True).stdout


@functools.cache
def options_of(turnpike, *names):
    if names[0] == "bench" and names != ("bench",) and names[1] != "link":
        return set(bench.parser()._option_string_actions)
    if names == ("fleet",):
        return set(fleet.parser()._option_string_actions)
    lines = [line for line in help_of(turnpike, *names).splitlines() if re.match(r" {1,4}-", line)]
    return {option for line in lines for option in re.findall(r"(?<![\w-])--?[a-z][\w-]*", line[:28])}


def mistakes(turnpike, line):
    """What a command line names that `turnpike` does not have."""
    words = shlex.split(line.replace("'", ""))[1:]
    words = words[: words.index("--")] if "--" in words else words
    if words[:1] == ["help"]:  # of a command, the program itself or COMMAND
        words = [word for word in words[1:] if not word.isupper()]
    if words and words[0].startswith("-"):
        return []
    if not words or NOT_OURS.match(words[0]):
        return []
    names = tuple(words[:2]) if words[0] == "bench" and len(words) > 1 and words[1][0] != "-" else (words[0],)
    if not re.search(rf"^  {re.escape(words[0])} ", help_of(turnpike), re.MULTILINE):
        return [f"no command {words[0]}"]
    known = options_of(turnpike, *names)
    found = [f"no option {word}" for word in words if word.startswith("-") and word != "-" and word not in known]
    edits = [after for option, after in zip(words, words[1:], strict=False) if option == "--edit"]
    changes = re.findall(r"^  (\w+)  ", help_of(turnpike, "whatif"), re.MULTILINE)
    return found + [f"no change {edit}" for edit in edits if edit.partition("@")[0] not in [*changes, "CHANGE"]]


def unknown_names(code):
    """The attributes of turnpike that a piece of Python uses and the package lacks."""
    imports = re.compile(r"^from turnpike\.([\w.]+) import (.+)$", re.MULTILINE)
    lacking = [name for module, names in imports.findall(code) for name in set(names.split(", ")) - defined_in(module)]
    used = set(re.findall(r"(?<![\w.])(?:tp|turnpike)\.(\w+)", imports.sub("", code)))
    return sorted([*lacking, *(used - set(tp.__all__))])


def defined_in(module):
    """What a module of the package defines, as its source says: to import it would need the framework it is for."""
    source = ROOT / "python" / "turnpike" / (module.replace(".", "/") + ".py")
    body = ast.parse(source.read_text()).body if source.exists() else []
    return {node.name for node in body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_python_compiles_and_names_what_exists(page):
    for code in blocks(page.read_text(), "python"):
        compile(code, named(page), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        assert unknown_names(code) == [], code


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_have_the_options_that_pages_name(page, turnpike):
    wrong = {line: found for line in commands(page.read_text()) if (found := mistakes(turnpike, line))}
    assert wrong == {}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_scripts_that_pages_run_exist(page):
    for code in blocks(page.read_text(), "", "sh", "console"):
        for script in re.findall(r"^(?:\$ )?(scripts/[\w.]+)", code, re.MULTILINE):
            assert (ROOT / script).exists(), script


def test_the_checks_find_what_they_look_for(turnpike):
    text = "```\nturnpike report run.tpk --tops 3  more lines\n```\nand `turnpike whatif RUN\n--edit pins@a.py:1`\n"
    assert commands(text) == ["turnpike report run.tpk --tops 3", "turnpike whatif RUN --edit pins@a.py:1"]
    assert [mistakes(turnpike, line) for line in commands(text)] == [["no option --tops"], ["no change pins@a.py:1"]]
    assert mistakes(turnpike, "turnpike reports") == ["no command reports"]
    assert mistakes(turnpike, "turnpike bench to --quicker") == ["no option --quicker"]
    assert mistakes(turnpike, "turnpike record -o a.tpk -- python train.py --unknown") == []
    assert unknown_names("tp.too(x); turnpike.report(y); other.tp.z") == ["too"]
    assert unknown_names("from turnpike.integrations.ray import runtime_env, run") == ["run"]
    assert unknown_names("from turnpike.integrations.rays import runtime_env") == ["runtime_env"]
    assert sum(len(commands(page.read_text())) for page in PAGES) > 80
