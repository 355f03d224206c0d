"""`turnpike`, `turnpike report` and `turnpike export` as commands: what they print, where, and how they end."""

import gzip
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from terminal import shown_on_terminal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

from tracefile import (  # noqa: E402
    COPY_CALL,
    DEVICE,
    HOST_TO_DEVICE,
    PAGEABLE,
    PYTHON_FRAME,
    TraceFile,
)

FULL_DISK = "/dev/full"


# One upload, as torch.profiler tells of it.
HOST = {"ph": "X", "pid": 9, "tid": 9}
COPY = {"device": 0, "context": 1, "stream": 7, "correlation": 7, "bytes": 4096}
UPLOAD_OF_TORCH_PROFILER = [
    {**HOST, "ts": 0.5, "dur": 90, "cat": "python_function", "name": "train.py(12): step"},
    {**HOST, "ts": 1, "dur": 50, "cat": "cpu_op", "name": "aten::to"},
    {**HOST, "ts": 5, "dur": 20, "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "args": {"correlation": 7}},
    {"ph": "X", "ts": 8, "dur": 9.125, "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "args": COPY},
]


@pytest.fixture
def clean_environment(tmp_path):
    unwanted = ("TURNPIKE", "NO_COLOR", "XDG")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    return {**environment, "XDG_CACHE_HOME": str(tmp_path / "cache"), "TERM": "xterm"}


@pytest.fixture
def run(turnpike, clean_environment, tmp_path):
    def run(*arguments, **more):
        return subprocess.run(
            [str(turnpike), *map(str, arguments)],
            **{
                "cwd": tmp_path,
                "env": clean_environment,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                "text": True,
                "timeout": 60,
                **more,
            },
        )

    return run


def write_run(directory, copies=3, host="box"):
    directory.mkdir()
    trace = TraceFile(pid=4242)
    trace.metadata = {"program": "python\x1ftrain.py", "detail": "full", "host": host}
    trace.device("NVIDIA H100 80GB HBM3")
    stack = trace.stack(trace.frame(PYTHON_FRAME, "train", "/home/me/train.py", 23))
    for number in range(1, copies + 1):
        start = number * 1_000_000
        trace.call("cudaMemcpyAsync", COPY_CALL, number, start, start + 30_000, stack=stack, size_bytes=1000)
        trace.memcpy(HOST_TO_DEVICE, PAGEABLE, DEVICE, 1000, number, start + 5_000, start + 25_000)
    trace.write(directory / "4242.tpt")
    return directory


@pytest.fixture
def recording(tmp_path):
    return write_run(tmp_path / "train.tpk")


class TestMain:
    def test_help_names_every_command_and_exit_code(self, run):
        result = run("--help")
        assert result.returncode == 0
        commands = "record report whatif diff check export dump bench".split()
        for word in (*commands, "Exit codes", "turnpike record -- python train.py", "turnpike whatif train.tpk"):
            assert word in result.stdout

    def test_nothing_to_do_is_wrong_usage_and_shows_the_help(self, run):
        result = run()
        assert (result.returncode, result.stdout) == (2, "")
        assert "turnpike report train.tpk" in result.stderr

    def test_version(self, run):
        version = (pathlib.Path(__file__).resolve().parents[2] / "VERSION").read_text().strip()
        assert run("--version").stdout == f"turnpike {version}\n"

    def test_a_slip_of_the_finger_is_understood(self, run):
        result = run("reprot", "train.tpk")
        assert result.returncode == 2
        assert "Did you mean `turnpike report`?" in result.stderr

    def test_a_word_like_no_command_gets_no_guess(self, run):
        result = run("frobnicate")
        assert result.returncode == 2
        assert "turnpike --help" in result.stderr
        assert "Did you mean" not in result.stderr

    @pytest.mark.parametrize("arguments", [["report"], ["report", "x", "--tpo", "3"], ["export", "x", "--to", "excel"]])
    def test_wrong_usage_ends_with_2_and_names_the_help(self, run, arguments):
        result = run(*arguments)
        assert (result.returncode, result.stdout) == (2, "")
        assert f"turnpike {arguments[0]} --help" in result.stderr


class TestReport:
    def test_text_on_standard_output(self, run, recording):
        result = run("report", recording)
        assert (result.returncode, result.stderr) == (0, "")
        assert "train.py:23" in result.stdout
        assert "python train.py" in result.stdout
        assert "\x1b" not in result.stdout
        assert max(map(len, result.stdout.splitlines())) <= 100

    def test_parts_of_the_text_are_of_no_other_output(self, run, recording):
        for part in ("--findings", "--threads", "--transfers", "--syncs", "--memory", "--losses", "--explain", "--all"):
            assert run("report", recording, part).returncode == 0
            assert part in run("report", "--help").stdout
            for other in (["--json"], ["--tree"], ["--html", "page.html"]):
                result = run("report", recording, part, *other)
                assert (result.returncode, result.stdout) == (2, "")
                assert part in result.stderr

    def test_json_is_json(self, run, recording):
        report = json.loads(run("report", recording, "--json").stdout)
        assert report["schema"] == 1
        assert report["totals"]["h2d"]["count"] == 3
        assert report["source"]["hosts"] == ["box"]

    def test_several_runs_are_one_report(self, run, recording, tmp_path):
        other = write_run(tmp_path / "rank1.tpk", host="other")
        report = json.loads(run("report", recording, other, "--json").stdout)
        assert report["source"]["processes"] == 2
        assert report["totals"]["h2d"]["count"] == 6

    @pytest.mark.parametrize("what", ["missing", "empty file", "empty directory", "text"])
    def test_what_is_no_run_ends_with_3(self, run, tmp_path, what):
        path = tmp_path / "thing"
        if what == "empty directory":
            path.mkdir()
        elif what != "missing":
            path.write_text("hello" if what == "text" else "")
        result = run("report", path)
        assert (result.returncode, result.stdout) == (3, "")
        assert result.stderr.startswith("turnpike report: ")

    @pytest.mark.parametrize(
        ("name", "data", "said"),
        [
            ("trace.json", b'{"schemaVersion": 1, "traceEvents": []}', "no events of torch.profiler"),
            ("trace.json", b'{"a": 1}', "no list `traceEvents`"),
            ("trace.json.gz", gzip.compress(b"{}", mtime=0), "no list `traceEvents`"),
            ("run.sqlite", b"SQLite format 3\0" + bytes(84), "run.sqlite"),
            ("run.nsys-rep", b"anything", "nsys export --type sqlite"),
        ],
    )
    def test_unusable_files_of_other_profilers_are_told(self, run, tmp_path, name, data, said):
        (tmp_path / name).write_bytes(data)
        for command in (["report", name], ["export", name, "--to", "chrome"]):
            result = run(*command)
            assert result.returncode == 3
            assert said in result.stderr

    @pytest.mark.parametrize("suffix", [".json", ".json.gz", ".renamed"])
    def test_traces_of_torch_profiler_are_reported(self, run, tmp_path, suffix):
        path = tmp_path / f"trace{suffix}"
        text = json.dumps({"traceEvents": UPLOAD_OF_TORCH_PROFILER}).encode()
        path.write_bytes(gzip.compress(text) if suffix.endswith("gz") else text)
        report = json.loads(run("report", path, "--json").stdout)
        assert report["source"]["kind"] == "kineto"
        assert (report["totals"]["h2d"]["count"], report["totals"]["h2d"]["bytes"]) == (1, 4096)
        (site,) = report["sites"]
        assert (site["site"], site["line"], site["function"]) == ("train.py (step)", None, "step")
        assert site["op"] == "aten::to"
        assert report["losses"] == {}

    def test_a_recording_beside_a_trace_of_torch_profiler_is_mixed(self, run, recording, tmp_path):
        (tmp_path / "trace.json").write_text(json.dumps(UPLOAD_OF_TORCH_PROFILER))
        report = json.loads(run("report", recording, "trace.json", "--json").stdout)
        assert report["source"]["kind"] == "mixed"

    def test_traces_of_torch_profiler_are_exported(self, run, tmp_path):
        (tmp_path / "trace.json").write_text(json.dumps(UPLOAD_OF_TORCH_PROFILER))
        assert run("export", "trace.json", "--to", "chrome", "-o", "out.json").returncode == 0
        names = [event["name"] for event in json.loads((tmp_path / "out.json").read_text())["traceEvents"]]
        assert "cudaMemcpyAsync" in names

    def test_colour_on_a_terminal_only(self, turnpike, clean_environment, recording, tmp_path):
        command = [str(turnpike), "report", str(recording)]
        assert "\x1b[1m" in shown_on_terminal(command, clean_environment, tmp_path)
        assert "\x1b" not in shown_on_terminal([*command, "--no-color"], clean_environment, tmp_path)
        assert "\x1b" not in shown_on_terminal(command, {**clean_environment, "NO_COLOR": "1"}, tmp_path)

    def test_a_full_disk_is_told(self, run, recording):
        with open(FULL_DISK, "w") as full:
            result = run("report", recording, stdout=full)
        assert result.returncode == 4
        assert "No space left" in result.stderr

    def write_links(self, tmp_path, host, device="NVIDIA H100 80GB HBM3"):
        cache = tmp_path / "cache" / "turnpike"
        cache.mkdir(parents=True)
        link = {
            "device_name": device,
            "host": host,
            "h2d_pinned_gbps": 55.0,
            "d2h_pinned_gbps": 53.9,
            "date": "2026-11-20T00:00:00Z",
        }
        (cache / "link.json").write_text(json.dumps({"schema": 1, "links": [link]}))

    def test_the_report_of_the_demo_knows_everything(self, run):
        example = pathlib.Path(__file__).resolve().parents[2] / "examples" / "mnist-h100.tpk"
        text = run("report", example).stdout
        assert "WHAT TO DO" in text
        assert "unknown" not in text

    def test_the_measured_link_of_the_same_machine_is_used(self, run, recording, tmp_path):
        self.write_links(tmp_path, "box")
        totals = json.loads(run("report", recording, "--json").stdout)["totals"]
        assert (totals["h2d"]["link_gbps"], totals["d2h"]["link_gbps"]) == (55.0, 53.9)
        assert totals["d2d"]["link_gbps"] is None

    @pytest.mark.parametrize(("host", "device"), [("other", "NVIDIA H100 80GB HBM3"), ("box", "NVIDIA A100")])
    def test_another_machines_link_is_not_used(self, run, recording, tmp_path, host, device):
        self.write_links(tmp_path, host, device)
        up = json.loads(run("report", recording, "--json").stdout)["totals"]["h2d"]
        assert (up["link_source"], up["link_basis"]) == ("model", "PCIe 5 x16")
        text = run("report", recording, "--all").stdout
        assert "typical of PCIe 5 x16, which GPUs of this model have; not measured here" in " ".join(text.split())
        assert "turnpike bench link" in text
        assert "unknown" not in text


class TestExport:
    def test_writes_a_trace_beside_the_user(self, run, recording, tmp_path):
        result = run("export", recording, "--to", "chrome")
        assert (result.returncode, result.stdout) == (0, "")
        trace = json.loads((tmp_path / "train.chrome.json").read_text())
        slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        assert sum(event["cat"] != "idle" for event in slices) == 6
        assert any(event["cat"] == "idle" and event["name"] == "copies_only" for event in slices)
        assert "train.chrome.json" in result.stderr

    def test_perfetto_is_the_same_file(self, run, recording):
        chrome = run("export", recording, "--to", "chrome", "-o", "-").stdout
        assert run("export", recording, "--to", "perfetto", "-o", "-").stdout == chrome
        json.loads(chrome)

    def test_a_trailing_slash_does_not_change_the_name(self, run, recording, tmp_path):
        assert run("export", f"{recording}/", "--to", "chrome").returncode == 0
        assert (tmp_path / "train.chrome.json").exists()

    def test_nothing_is_left_when_it_cannot_be_written(self, run, recording, tmp_path):
        (tmp_path / "there").mkdir()
        assert run("export", recording, "--to", "chrome", "-o", "there").returncode == 4
        assert run("export", recording, "--to", "chrome", "-o", "no/such/place.json").returncode == 4
        assert run("export", recording, "--to", "chrome", "-o", FULL_DISK).returncode == 4
        assert sorted(path.name for path in tmp_path.iterdir()) == ["there", "train.tpk"]

    def test_an_older_file_stays_when_the_new_one_fails(self, turnpike, recording, tmp_path):
        old = tmp_path / "old.json"
        old.write_text("old")
        # A file size limit stands for the full disk; the signal that comes with it is ignored.
        limited = ["bash", "-c", 'trap "" XFSZ; ulimit -f 0; exec "$@"', "bash"]
        command = [*limited, turnpike, "export", recording, "--to", "chrome", "-o", old]
        result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60)
        assert result.returncode == 4
        assert old.read_text() == "old"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["old.json", "train.tpk"]

    def test_standard_output_stays_a_device(self, run, recording):
        assert run("export", recording, "--to", "chrome", "-o", "/dev/null").returncode == 0
        assert pathlib.Path("/dev/null").is_char_device()

    def test_unreadable_input_makes_no_file(self, run, tmp_path):
        assert run("export", "missing.tpk", "--to", "chrome").returncode == 3
        assert list(tmp_path.iterdir()) == []

    def test_ctrl_c_leaves_no_half_file(self, turnpike, clean_environment, tmp_path):
        run_directory = write_run(tmp_path / "large.tpk", copies=20_000)
        command = [str(turnpike), "export", str(run_directory), "--to", "chrome"]
        with subprocess.Popen(command, cwd=tmp_path, env=clean_environment, stderr=subprocess.DEVNULL) as process:
            deadline = time.monotonic() + 30
            while process.poll() is None and not list(tmp_path.glob("*.part")) and time.monotonic() < deadline:
                time.sleep(0.001)
            assert list(tmp_path.glob("*.part")), "the file was never under way"
            process.send_signal(signal.SIGINT)
        assert process.returncode == -signal.SIGINT
        assert [path.name for path in tmp_path.iterdir()] == ["large.tpk"]


def test_help_of_a_command_is_its_option_help(run):
    assert run("help", "check").stdout == run("check", "--help").stdout != ""
    assert run("help").stdout == run("--help").stdout != ""
    assert run("-V").stdout == run("--version").stdout != ""
    assert (run("help", "chek").returncode, run("help", "chek").stderr.count("turnpike check")) == (2, 1)


@pytest.mark.parametrize("command", ["report", "diff", "whatif", "view", "check", "export"])
def test_help_does_not_list_what_an_option_excludes(run, command):
    text = run(command, "--help").stdout
    assert "Excludes:" not in text and "Needs:" not in text


@pytest.mark.parametrize(
    "arguments", [["report"], ["whatif"], ["dump"], ["export", "--to", "csv", "--table", "transfers"], ["rollup"]]
)
def test_without_a_run_every_command_takes_the_newest(run, tmp_path, arguments):
    missing = run(*arguments)
    assert missing.returncode == 2 and "this folder has no run" in missing.stderr
    write_run(tmp_path / "newest.tpk")
    result = run(*arguments)
    assert result.returncode == 0, result.stderr
    assert "newest.tpk, the newest run in this folder" in result.stderr
