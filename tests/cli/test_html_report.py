"""`turnpike report RUN --html FILE`: the file appears whole, holds the report, and says what it leaves out."""

import base64
import hashlib
import json
import re
import resource
import subprocess

import pytest
from html_parts import Parts
from runs import write_run


@pytest.fixture
def page_of(run, tmp_path):
    def page_of(*arguments):
        result = run("report", *arguments, "--html", "page.html")
        assert result.returncode == 0, result.stderr
        return Parts((tmp_path / "page.html").read_text())

    return page_of


def test_the_page_holds_the_same_report_as_json(run, page_of, tmp_path):
    write_run(tmp_path / "train.tpk")
    page = page_of("train.tpk")
    assert json.loads(page.scripts["tp-report"]) == json.loads(run("report", "train.tpk", "--json").stdout)


def test_the_document_says_it_all_without_the_script(page_of, tmp_path):
    write_run(tmp_path / "train.tpk")
    words = " ".join(page_of("train.tpk").words)
    for expected in ("Your GPU is idle", "train.py:23", "Transfers by line", "CPU > GPU", "A median step"):
        assert expected in words, expected


def test_the_policy_names_exactly_the_program_and_the_style(page_of, tmp_path):
    write_run(tmp_path / "train.tpk")
    page = page_of("train.tpk")
    policy = next(meta["content"] for meta in page.metas if meta.get("http-equiv") == "Content-Security-Policy")

    def hash_of(text):
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert f"script-src {hash_of(page.scripts['program'])};" in policy
    assert f"style-src {hash_of(page.styles[0])};" in policy


def test_every_event_of_the_run_is_in_a_lane(page_of, tmp_path):
    write_run(tmp_path / "train.tpk", copies=50)
    contents = json.loads(page_of("train.tpk").scripts["tp-toc"])
    counts = {}
    for lane in contents["lanes"]:
        if "fix" not in lane:
            counts[lane["kind"]] = counts.get(lane["kind"], 0) + sum(block["count"] for block in lane["blocks"])
    assert (counts["host"], counts["stream"], counts["copy_up"]) == (100, 50, 50)
    assert contents["left_out"] == []


def test_a_temporary_file_that_cannot_be_written_is_an_error_and_leaves_no_page(turnpike, environment, tmp_path):
    write_run(tmp_path / "train.tpk", copies=100_000)
    result = subprocess.run(
        [str(turnpike), "report", "train.tpk", "--html", "page.html"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY)),
    )  # fmt: skip
    assert result.returncode == 4
    assert re.search(r"cannot write a temporary file in /.*: File too large.*TMPDIR", result.stderr)
    assert [path.name for path in tmp_path.iterdir()] == ["train.tpk"]


def test_the_gpu_idle_time_has_its_causes(run, page_of, tmp_path):
    write_run(tmp_path / "train.tpk", copies=50)
    contents = json.loads(page_of("train.tpk").scripts["tp-toc"])
    state = next(lane for lane in contents["lanes"] if lane["kind"] == "state")
    assert "a copy holds the CPU" in {contents["strings"][name] for name in state["names"]}


def test_source_is_shown_as_it_was_recorded(page_of, tmp_path):
    write_run(tmp_path / "train.tpk", source="".join(f"line_{number} = '<b>'\n" for number in range(1, 40)))
    page = page_of("train.tpk")
    assert "line_23 = '<b>'" in " ".join(page.words)
    (excerpt,) = json.loads(page.scripts["tp-toc"])["source"]
    assert (excerpt["first_line"], excerpt["lines"][4]) == (19, "line_23 = '<b>'")
    without = page_of("train.tpk", "--no-source")
    assert "line_23" not in " ".join([*without.words, *without.scripts.values()])
    assert "--no-source" in json.loads(without.scripts["tp-toc"])["no_source"]


UPLOAD = "    x = x.to(device)  # <b>"


@pytest.fixture
def uploaded(tmp_path):
    """The file of a run whose line 23 uploads from pageable memory."""
    source = "".join(f"{UPLOAD if number == 23 else '    pass'}\n" for number in range(1, 40))
    write_run(tmp_path / "train.tpk", op="aten::to", source=source)
    return "/home/me/train.py"


def test_a_sure_fix_is_shown_as_a_diff(run, page_of, uploaded):
    findings = json.loads(run("report", "train.tpk", "--json").stdout)["findings"]
    expected = {
        "file": uploaded,
        "line": 23,
        "before": "x = x.to(device)  # <b>",
        "after": "x = tp.to(x, device)  # <b>",
        "imports": ["import turnpike as tp"],
        "indent": "    ",
    }
    (index,) = [i for i, finding in enumerate(findings) if finding["rule"] == "pageable_async_copy"]
    assert findings[index]["change"] == expected
    page = page_of("train.tpk")
    words = " ".join(page.words)
    assert f"- {expected['before']}" in words and f"+ {expected['after']}" in words
    assert json.loads(page.scripts["tp-toc"])["findings"][index]["fix"] == {
        "before": [expected["before"]],
        "after": [expected["after"]],
        "needs": "import turnpike as tp",
    }
    assert "import turnpike as tp" in words


def test_no_fix_is_written_of_lines_that_were_not_recorded_or_must_not_be_shown(run, page_of, uploaded, tmp_path):
    without = page_of("train.tpk", "--no-source")
    for text in (*without.words, *(text for name, text in without.scripts.items() if name != "program")):
        assert "tp.to(x, device)" not in text and "x = x.to(device)" not in text
    write_run(tmp_path / "other.tpk", op="aten::to")
    report = json.loads(run("report", "other.tpk", "--json").stdout)
    assert report["findings"] and all(finding["change"] is None for finding in report["findings"])


def test_redacted_pages_name_no_folder(page_of, tmp_path):
    write_run(tmp_path / "train.tpk", program="python\x1f/home/me/train.py")
    page = page_of(tmp_path / "train.tpk", "--redact-paths")
    data = {name: text for name, text in page.scripts.items() if name != "program"}
    for text in (*page.words, *data.values()):
        assert "/home" not in text and str(tmp_path) not in text
    assert json.loads(page.scripts["tp-report"])["sites"][0]["file"] == "train.py"


def test_what_is_too_much_is_left_out_and_said(page_of, tmp_path):
    write_run(tmp_path / "train.tpk", copies=100)
    contents = json.loads(page_of("train.tpk", "--events", 300).scripts["tp-toc"])
    assert "not in this file" in contents["left_out"][0]
    assert "not in this file" in " ".join(page_of("train.tpk", "--events", 300).words)


def test_names_of_a_megabyte_make_a_small_page_and_a_short_text(run, page_of, tmp_path):
    name = "<first>" + "x" * 10**6
    write_run(tmp_path / "train.tpk", program=name, file=f"{name}.py", folder=f"/{name}", op=f"aten::{name}")
    page = page_of("train.tpk")
    assert (tmp_path / "page.html").stat().st_size < 2_000_000
    words = " ".join(page.words)
    assert re.search(r"<first>x+ \.\.\. \(1000010 bytes in all\) \.\.\. x+\.py:23", words)
    contents, report = (json.loads(page.scripts[part]) for part in ("tp-toc", "tp-report"))
    assert report["sites"][0]["site"] == contents["sites"][0]["site"]
    assert sum(block["count"] for lane in contents["lanes"] for block in lane["blocks"]) > 18
    assert len(run("report", "train.tpk").stdout) < 20_000
    whole = json.loads(run("report", "train.tpk", "--json").stdout)
    assert whole["sites"][0]["site"] == f"{name}.py:23", "other programs get the whole name"


def test_the_page_goes_to_standard_output(run, tmp_path):
    write_run(tmp_path / "train.tpk")
    result = run("report", "train.tpk", "--html", "-")
    assert result.stdout.startswith("<!doctype html>") and result.stdout.endswith("</html>\n")
    assert result.stderr == ""
    assert [path.name for path in tmp_path.iterdir()] == ["train.tpk"]


def test_the_file_replaces_no_input_and_its_path_is_told(run, tmp_path):
    write_run(tmp_path / "train.tpk")
    before = (tmp_path / "train.tpk" / "433.tpt").read_bytes()
    assert run("report", "train.tpk", "--html", "train.tpk/433.tpt").returncode == 2
    assert (tmp_path / "train.tpk" / "433.tpt").read_bytes() == before
    assert re.match(r"Wrote out\.html \(0\.\d MB\)", run("report", "train.tpk", "--html", "out.html").stderr)


def test_several_ranks_make_one_page(page_of, tmp_path):
    write_run(tmp_path / "a.tpk", pid=1)
    write_run(tmp_path / "b.tpk", pid=2)
    contents = json.loads(page_of("a.tpk", "b.tpk").scripts["tp-toc"])
    assert len(contents["groups"]) == 2
    assert {lane["group"] for lane in contents["lanes"]} == {0, 1}


def test_the_same_run_makes_the_same_bytes(run, tmp_path):
    write_run(tmp_path / "train.tpk")
    pages = [run("report", "train.tpk", "--html", "-").stdout for _ in range(2)]
    assert pages[0] == pages[1]
