"""Hostile recordings: no command reads a file that one names, or lets a name command a terminal or a spreadsheet."""

import csv
import json
import os
import pathlib
import re
import subprocess
import urllib.request

import pytest
from hostile import HARMFUL, LOUD, RECORDED, SECRET, write
from html_parts import Parts
from runs import write_run

# No file of this machine is shown, so its system files may stand for secrets as they are.
SYSTEM_FILES = ("/etc/passwd", "/etc/os-release", "/proc/self/environ")
BUDGET = "[per_step]\nh2d_count = 0\nblocked = '0 us'\n"


@pytest.fixture
def files(tmp_path):
    """Names of files of this machine that hold a secret, or that nobody should open."""
    key = tmp_path / "id_rsa"
    key.write_text(SECRET)
    key.chmod(0o600)
    (tmp_path / "secret.py").write_text(SECRET)
    (tmp_path / "link.py").symlink_to(key)
    (tmp_path / "link").symlink_to("secret.py")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "train.py").write_text(SECRET)
    os.mkfifo(tmp_path / "pipe.py")
    for old in tmp_path.rglob("*"):
        os.utime(old, (0, 0), follow_symlinks=False)
    inside = ("id_rsa", "secret.py", "link.py", "link", "folder/train.py", "folder/../secret.py", "pipe.py")
    return [
        *(str(tmp_path / name) for name in inside),
        *inside,
        f"../{tmp_path.name}/secret.py",
        f"file://{tmp_path}/secret.py",
        "/dev/zero",
        "/dev/stdin",
        *SYSTEM_FILES,
        "/recorded/here.py",
    ]


@pytest.fixture
def outputs(turnpike, environment, tmp_path):
    """What every command makes of a run, by command: standard output, standard error, and the files."""

    def called(arguments, expected=(0, 1)):
        before = set(tmp_path.rglob("*"))
        result = subprocess.run(
            [str(turnpike), *map(str, arguments)],
            cwd=tmp_path, env=environment, capture_output=True, timeout=60, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert result.returncode in expected, (arguments, result.stderr)
        made = {path: path.read_bytes() for path in set(tmp_path.rglob("*")) - before if path.is_file()}
        return result.stdout, result.stderr, made

    def page(run):
        process = subprocess.Popen(
            [str(turnpike), "view", str(run), "--no-browser"],
            cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        try:
            return urllib.request.urlopen(process.stdout.readline().decode().strip(), timeout=20).read(), b"", {}
        finally:
            process.kill()
            process.communicate()

    def outputs(run, other):
        (tmp_path / "turnpike.toml").write_text(BUDGET)
        commands = (
            ["report", run, "--top", "100"],
            ["report", run, "--json"],
            ["report", run, "--tree"],
            ["report", run, "--html", "-"],
            ["report", run, "--html", "page.html", "--redact-paths"],
            ["diff", other, run],
            ["diff", other, run, "--json"],
            ["diff", other, run, "--html", "-"],
            ["diff", run, other, "--html", "diff.html"],
            ["whatif", run],
            ["whatif", run, "--json"],
            ["check", run, "--no-github"],
            ["check", run, "--github"],
            ["check", run, "--json"],
            ["check", run, "--sarif", "turnpike.sarif"],
            ["check", run, "--init", "--budget", "new.toml"],
            ["export", run, "--to", "chrome", "-o", "-"],
            ["export", run, "--to", "csv", "-o", "tables"],
            ["export", run, "--to", "csv", "--table", "transfers", "-o", "-"],
            ["rollup", run, "-o", "rolled"],
            ["dump", run / "433.tpt"],
        )
        made = {" ".join(map(str, command[:1] + command[2:])): called(command) for command in commands}
        made["view"] = page(run)
        return made

    return outputs


def parts_of(made):
    """The pieces of text and bytes that one command made, with what each is."""
    out, err, files = made
    yield "standard output", out
    yield "standard error", err
    yield from ((str(path), content) for path, content in files.items())


def test_no_output_shows_a_local_file(outputs, files, tmp_path):
    run, other = write(tmp_path / "evil.tpk", files), write_run(tmp_path / "other.tpk")
    secrets = [*SECRET.split("\n")[:-1]]
    secrets += [line for name in SYSTEM_FILES[:2] for line in pathlib.Path(name).read_text().split("\n") if line]
    shown = set()
    for command, made in outputs(run, other).items():
        for what, content in parts_of(made):
            text = content.decode(errors="replace")
            found = [secret for secret in secrets if secret in text]
            assert not found, f"{command}: {what}"
            if RECORDED in text:
                shown.add(command)
    # The same commands show what was recorded, so the test would notice source.
    assert {"report --top 100", "report --html -", "view", "dump"} <= shown


FORMULAS = ["=HYPERLINK(1)", "+1+1", "-2+3", "@SUM(A1)", "\tx", "\rx", "=\x1b[2J"]
FORMULAS += [" =1", "\u00a0=1", "\n=1", "\u3000+1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff20SUM(A1)"]


@pytest.mark.parametrize("text", FORMULAS)
def test_csv_cells_are_no_formulas(run, tmp_path, text):
    write(tmp_path / "evil.tpk", [f"{text}/train.py"], name=text)
    assert run("export", "evil.tpk", "--to", "csv", "-o", "tables").returncode == 0
    cells = {}
    for path in (tmp_path / "tables").glob("*.csv"):
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
        for name, value in ((name, value) for row in rows for name, value in row.items()):
            cells.setdefault(name, set()).add(value)
            assert value[:1] not in tuple("\t\r"), (path.name, name, value)
            start = value.lstrip()
            assert start[:1] not in tuple("=+@\uff1d\uff0b\uff0d\uff20"), (path.name, name, value)
            assert not re.match("-[^0-9]", start), (path.name, name, value)
    shown = text.replace("\x1b", "\\x1b")
    assert cells["name"] == {f"'{shown}"}
    assert {f"'{shown}/train.py"} == cells["file"] - {""}
    assert any(value.isdigit() for value in cells["bytes"]), "numbers stay numbers"


def test_no_separator_splits_a_formula_off(run, tmp_path):
    write(tmp_path / "evil.tpk", ["/a;=1/b\t=2/train.py"], name="k;=1\t=2")
    assert run("export", "evil.tpk", "--to", "csv", "-o", "tables").returncode == 0
    text = (tmp_path / "tables" / "transfers.csv").read_text() + (tmp_path / "tables" / "kernels.csv").read_text()
    assert "k;=1" in text and "b\t=2" in text
    assert not re.search("[;\t]", re.sub('"[^"]*"', "", text))


def test_names_hold_no_control_characters(outputs, tmp_path):
    run = write(tmp_path / "evil.tpk", [f"/a{LOUD}/train.py"], name=f"k{LOUD}", program=f"p{LOUD}", loud=LOUD)
    for command, made in outputs(run, write_run(tmp_path / "other.tpk")).items():
        for what, content in parts_of(made):
            if what.endswith(".parquet"):
                continue  # a table of bytes, as they are
            text = content.decode()
            if "csv" in command:
                text = re.sub('"[^"]*"', "", text.replace("\t", "").replace("\r", ""))  # lines in quotes are one cell's
            if "html" in command or command == "view":
                data = Parts(text)
                for part in (*data.words, *(script for name, script in data.scripts.items() if name != "program")):
                    assert not re.search("[\x00-\x08\x0e-\x1f]", part), f"{command}: {what}"
                continue
            found = HARMFUL.search(text)
            assert not found, f"{command}: {what}: {text[found.start() - 40 : found.end() + 10]!r}"


def obeyed(text):
    """The lines that GitHub's runner obeys, of which there are two kinds."""
    return [line for line in text.split("\n") if line.strip().startswith("::") or "##[" in line]


def test_no_output_commands_a_runner(outputs, tmp_path):
    words = "::warning title=x::y " * 20 + "##[error]z"
    texts = dict(name=f"::error::k {words}", program=f"::p {words}\x1f::q", loud=f" {words}")
    run = write(tmp_path / "evil.tpk", [f"/::a{'b' * 70}{words}/train.py", "::warning::c/train.py"], **texts)
    for command, made in outputs(run, write_run(tmp_path / "other.tpk")).items():
        if "html" in command or command == "view" or "chrome" in command:
            continue  # files for browsers, which nobody prints
        for what, content in parts_of(made):
            if not what.startswith("standard"):
                continue
            found = [line for line in obeyed(content.decode()) if not line.startswith("::error file=turnpike.toml")]
            assert not found, f"{command}: {what}: {found[0]!r}"


def test_names_of_cpp_stay_as_they_are(run, tmp_path):
    write(tmp_path / "good.tpk", ["/home/me/train.py"], name="void at::native::copy_<a::b>(::c)")
    assert (
        "at::native::copy_<a::b>(::c)"
        in run("export", "good.tpk", "--to", "csv", "--table", "kernels", "-o", "-").stdout
    )


def test_annotations_are_those_of_the_budget_alone(run, tmp_path):
    write(tmp_path / "evil.tpk", [f"/a{LOUD}/train.py"], name=f"k{LOUD}", loud=LOUD)
    (tmp_path / "turnpike.toml").write_text(BUDGET)
    result = run("check", "evil.tpk", "--github")
    commands = obeyed(result.stdout)
    assert [line.split(",", 1)[0] for line in commands] == ["::error file=turnpike.toml"] * 2


def test_the_hostile_names_arrive(run, tmp_path):
    """The other tests would pass, too, if the commands showed none of the names."""
    write(tmp_path / "evil.tpk", [f"/a{LOUD}/train.py"], name=f"k{LOUD}", loud=LOUD)
    report = json.loads(run("report", "evil.tpk", "--json").stdout)
    assert report["sites"][0]["file"] == f"/a{LOUD}/train.py"
    assert "pwned" in run("report", "evil.tpk").stdout
