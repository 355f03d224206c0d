"""bench/verdicts, with a turnpike that says what it is told to say."""

import hashlib
import json
import pathlib
import stat
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench" / "verdicts")]

import judged_traces  # noqa: E402
import score  # noqa: E402

SAYS = """#!{python}
import json, sys
said = json.load(open(sys.argv[-1]))
if said is None:
    sys.exit("no trace")
print(json.dumps({{"used_gpu": said != "none", "steps": None, "verdict": {{
    "bound_by": None if said in ("none", "unknown", "idle") else said,
    "why": "No GPU did anything." if said == "idle" else "x", "gpu_busy_pct": 1.0, "idle": None}}}}))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three judged traces of which two are of the half work; the file of each holds what turnpike will say."""
    program = tmp_path / "turnpike"
    program.write_text(SAYS.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("TURNPIKE", str(program))
    traces = []
    for name, half, says in [("a/x", "work", "launch"), ("a/y", "work", "unrecorded"), ("b/z", "held_out", "gpu")]:
        text = json.dumps(says)
        path = tmp_path / "traces" / name / "trace.json"
        path.parent.mkdir(parents=True)
        path.write_text(text)
        source = {"repository": "o/r", "commit": "HEAD", "path": "t/trace.json"}
        source["sha256"] = hashlib.sha256(text.encode()).hexdigest()
        traces.append({"name": name, "family": name[0], "half": half, "source": source, "verdict": "launch",
                       "also_right": ["host"], "worthless": ["gpu"], "confidence": "sure", "reason": "r"})  # fmt: skip
    (tmp_path / "judged.json").write_text(json.dumps(traces))
    load = judged_traces.load
    monkeypatch.setattr(judged_traces, "load", lambda half: load(half, str(tmp_path / "judged.json")))
    return tmp_path


def say(folder, name, says):
    """Makes turnpike say something else of a trace, which stays the one that was judged."""
    text = json.dumps(says)
    (folder / "traces" / name / "trace.json").write_text(text)
    traces = json.loads((folder / "judged.json").read_text())
    for trace in traces:
        if trace["name"] == name:
            trace["source"]["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / "judged.json").write_text(json.dumps(traces))


def result(folder, *options):
    out = folder / "out.json"
    code = score.main([str(folder / "traces"), "--out", str(out), *options])
    return code, json.loads(out.read_text())


@pytest.mark.parametrize(
    ("says", "said", "outcome"),
    [
        ("launch", "launch", "right"),
        ("host", "host", "also"),
        ("gpu", "gpu", "worthless"),
        ("mixed", "mixed", "wrong"),
        ("unrecorded", "incomplete", "wrong"),
        ("none", "none", "wrong"),
        ("idle", "none", "wrong"),
        ("unknown", "incomplete", "wrong"),
        (None, "refused", "wrong"),
    ],
)
def test_a_verdict_is_compared_with_the_judged_one(folder, says, said, outcome):
    say(folder, "a/x", says)
    row = result(folder)[1]["rows"][0]
    assert (row["said"], row["outcome"], row["value"]) == (said, outcome, float(outcome in ("right", "also")))


def test_the_sums_count_a_family_once(folder):
    code, found = result(folder)
    assert code == 0
    assert found["half"] == "work"
    assert [row["case"] for row in found["rows"]] == ["a/x", "a/y"]
    sums = found["sums"]
    assert (sums["traces"], sums["right"], sums["wrong"]) == (2, 1, 1)
    assert (sums["families"], sums["families_right_or_also"]) == (1, 0.5)
    assert sums["by_judged"] == {"launch": {"launch": 1, "incomplete": 1}}


def test_a_file_that_is_not_the_judged_one_is_not_scored(folder):
    (folder / "traces" / "a" / "x" / "trace.json").write_text('"gpu"')
    (folder / "traces" / "a" / "y" / "trace.json").unlink()
    code, found = result(folder)
    assert code == 1
    assert found["rows"] == []
    assert sorted(found["missing"]) == ["a/x", "a/y"]


def test_a_trace_of_the_held_out_half_is_refused_without_the_option(folder, capsys):
    assert score.main([str(folder / "traces"), "--only", "b/z"]) == 2
    assert "needs --held-out, and is run once" in capsys.readouterr().err


def test_the_held_out_half_is_scored_once(folder):
    code, found = result(folder, "--held-out")
    assert (code, found["half"], [row["case"] for row in found["rows"]]) == (0, "held_out", ["b/z"])
    with pytest.raises(SystemExit):
        result(folder, "--held-out")
    with pytest.raises(SystemExit):
        score.main([str(folder / "traces"), "--held-out"])


def test_files_are_taken_out_of_clones(folder):
    clone = folder / "clones" / "o" / "r"
    (clone / "t").mkdir(parents=True)
    (clone / "t" / "trace.json").write_text('"launch"')
    git = ["git", "-C", str(clone), "-c", "user.name=n", "-c", "user.email=e"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "m"]):
        subprocess.run([*git, *words], check=True)
    (folder / "traces" / "a" / "x" / "trace.json").unlink()
    (folder / "traces" / "a" / "y" / "trace.json").unlink()
    code, found = result(folder, "--clones", str(folder / "clones"))
    assert [row["case"] for row in found["rows"]] == ["a/x"]
    assert list(found["missing"]) == ["a/y"]  # the clone's file is not the judged one
    assert code == 1


def test_the_halves_share_no_family():
    families = {half: {trace.family for trace in judged_traces.load(half)} for half in ("work", "held_out")}
    assert families["work"] and families["held_out"]
    assert not families["work"] & families["held_out"]
