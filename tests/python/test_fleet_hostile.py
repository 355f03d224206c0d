"""`turnpike fleet` reads hostile recordings. tests/cli has the commands that read one run."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from hostile import HARMFUL, LOUD, SECRET, write  # noqa: E402

from test_fleet import fleet  # noqa: E402


def test_no_output_shows_a_local_file_or_commands_a_terminal(tmp_path):
    (tmp_path / "secret.py").write_text(SECRET)
    files = [str(tmp_path / "secret.py"), f"/a{LOUD}/train.py"]
    runs = [write(tmp_path / f"rank{rank}.tpk", files, name=f"k{LOUD}", loud=LOUD) for rank in range(5)]
    for options in ([], ["--json"], ["--by", "host,gpu"]):
        result = fleet(*runs, *options, "--html", tmp_path / "fleet.html", "--parquet", tmp_path / "tables")
        assert result.returncode == 0, result.stderr
        for text in (result.stdout, result.stderr, (tmp_path / "fleet.html").read_text()):
            assert "s3cret1=" not in text
            assert not HARMFUL.search(text)
    for path in (tmp_path / "tables").glob("*.parquet"):
        assert b"s3cret1=" not in path.read_bytes()
    assert "pwned" in (tmp_path / "fleet.html").read_text(), "the names arrive"


def test_no_output_commands_a_runner_of_jobs(tmp_path):
    words = "##[error]a ::warning title=x::y "
    runs = [write(tmp_path / f"rank{rank}.tpk", ["/a/train.py"], loud=words, name=words) for rank in range(5)]
    shown = ""
    for options in ([], ["--json"], ["--by", "host,gpu"]):
        result = fleet(*runs, *options)
        assert result.returncode == 0, result.stderr
        shown += result.stdout + result.stderr
    assert "[error]a" in shown, "the names arrive"
    assert not [line for line in shown.split("\n") if line.strip().startswith("::") or "##[" in line]
