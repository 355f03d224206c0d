"""turnpike fleet: groups, the page, tables, and budgets."""

import html.parser
import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import fleet_job  # noqa: E402

from test_fleet import fleet, program, write_job  # noqa: E402, F401
from turnpike._fleet import budget, page, rollups, text  # noqa: E402
from turnpike._fleet.figures import Rank  # noqa: E402
from turnpike._fleet.finding import Finding  # noqa: E402
from turnpike._fleet.outliers import Spread  # noqa: E402

pytestmark = pytest.mark.slow

RANKS = 16
SLOW = 9
STEPS = 1200  # two minutes and a bit
FEW_STEPS = 600


@pytest.fixture(scope="session")
def job(program, tmp_path_factory):  # noqa: F811
    """Sixteen ranks on two hosts, one of them slow."""
    faults = {SLOW: fleet_job.planted(64)["slow_rank"][next(iter(fleet_job.planted(64)["slow_rank"]))]}
    return write_job(program, tmp_path_factory.mktemp("outputs") / "job", steps=STEPS, faults=faults, ranks=RANKS)


def limits(folder, text):
    path = folder / "turnpike.toml"
    path.write_text(text)
    return path


def test_ranks_are_grouped_by_what_is_asked_for(job):
    report = json.loads(fleet(job, "--json", "--by", "host").stdout)
    groups = report["groups"]
    assert {one["key"]["host"] for one in groups} == {fleet_job.host_of(0), fleet_job.host_of(SLOW)}
    assert [one["ranks"] for one in groups] == [8, 8]
    of_slow = next(one for one in groups if one["key"]["host"] == fleet_job.host_of(SLOW))
    assert of_slow["slowest"]["rank"] == SLOW
    assert of_slow["own_ns"] < of_slow["step_ns"]
    alone = json.loads(fleet(job, "--json", "--by", "rank").stdout)["groups"]
    assert len(alone) == RANKS and alone[0]["key"] == {"rank": SLOW}
    both = json.loads(fleet(job, "--json", "--by", "host,gpu").stdout)["groups"]
    assert list(both[0]["key"]) == ["host", "gpu"]
    assert "groups" not in json.loads(fleet(job, "--json").stdout)
    assert f"GROUP     host {fleet_job.host_of(SLOW)}: 8 ranks" in fleet(job, "--by", "host").stdout


def test_an_unknown_key_is_refused(job):
    result = fleet(job, "--by", "host,colour")
    assert result.returncode == 2
    assert "'colour' is none of host, rank, numa, gpu" in result.stderr


class Parsed(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.shown = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.shown += data


def test_the_page_shows_findings_ranks_and_when_they_were_slow(job, tmp_path):
    assert fleet(job, "--html", tmp_path / "fleet.html").returncode == 0
    text = (tmp_path / "fleet.html").read_text()
    parsed = Parsed(text)
    assert f"rank {SLOW} on {fleet_job.host_of(SLOW)}" in parsed.shown
    assert "slow_rank" in parsed.shown
    slow = [attributes["d"] for tag, attributes in parsed.tags if tag == "path" and attributes["class"][0] == "s"
            and attributes["class"] != "s0"]  # fmt: skip
    assert slow and {int(row) for path in slow for row in re.findall(r"M\d+ (\d+)h", path)} == {SLOW}
    assert len(re.findall("<tr><td>", text)) == RANKS


def test_the_page_runs_nothing_and_loads_nothing(job, tmp_path):
    fleet(job, "--html", tmp_path / "fleet.html")
    parsed = Parsed((tmp_path / "fleet.html").read_text())
    policy = next(attributes["content"] for tag, attributes in parsed.tags if attributes.get("http-equiv"))
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in parsed.tags}
    assert not [attributes for _, attributes in parsed.tags if {"src", "href", "style", "onload"} & attributes.keys()]


def test_hostile_names_are_text_in_the_page(program, tmp_path):  # noqa: F811
    hostile = "<script>alert(1)</script>\x1b[2J"
    job = write_job(program, tmp_path / "job", ranks=4, steps=300, faults={1: {"host": hostile}})
    assert fleet(job, "--html", tmp_path / "fleet.html").returncode == 0
    text = (tmp_path / "fleet.html").read_text()
    assert "<script" not in text and "\x1b" not in text
    assert "<script>alert(1)</script>" in Parsed(text).shown


def test_neighbours_that_look_alike_are_one_rectangle():
    minutes = {0: 100.0, 1: 101.0, 2: 130.0, 3: 131.0, 5: 131.0, 6: 80.0}
    medians = dict.fromkeys(range(7), 100.0)
    assert page._runs(minutes, medians) == [(0, 2, "s0"), (2, 2, "s3"), (5, 1, "s3"), (6, 1, "f2")]


def test_tables_hold_ranks_minutes_sites_and_findings(job, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    assert fleet(job, "--parquet", tmp_path / "it's here").returncode == 0

    def rows(query):
        return duckdb.sql(query.replace("FOLDER", str(tmp_path / "it's here").replace("'", "''"))).fetchall()

    assert rows("SELECT count(*), min(rank), max(rank) FROM 'FOLDER/ranks.parquet'") == [(RANKS, 0, RANKS - 1)]
    assert rows("SELECT sum(steps) = (SELECT sum(steps) FROM 'FOLDER/ranks.parquet') FROM 'FOLDER/minutes.parquet'")
    assert rows("SELECT count(*) > 0 FROM 'FOLDER/sites.parquet' WHERE bytes > 0") == [(True,)]
    found = "SELECT f.rule, r.rank FROM 'FOLDER/findings.parquet' f JOIN 'FOLDER/ranks.parquet' r USING (id)"
    assert rows(found) == [("slow_rank", SLOW)]


def test_a_budget_that_is_kept_and_one_that_is_not(job, tmp_path):
    kept = limits(tmp_path, '[fleet]\nmax_rank_spread_pct = 40\nmax_missing_ranks = 0\nforbid = ["drift"]\n')
    result = fleet(job, "--json", "--check", kept)
    assert result.returncode == 0
    assert [one["is_kept"] for one in json.loads(result.stdout)["budget"]] == [True, True, True]
    broken = limits(tmp_path, '[fleet]\nmax_rank_spread_pct = 5\nforbid = ["slow_rank"]\n')
    result = fleet(job, "--check", broken)
    assert result.returncode == 1
    assert "FAIL  max_rank_spread_pct: the slowest rank's own part of a step is " in result.stdout
    assert "FAIL  forbid: slow_rank: 1 found" in result.stdout


def test_missing_and_unreadable_count_against_the_budget(job, tmp_path):
    runs = sorted(job.iterdir())[:-1]  # not the last rank
    budget_file = limits(tmp_path, "[fleet]\nmax_missing_ranks = 1\nmax_unreadable = 0\n")
    assert fleet(*runs, "--check", budget_file).returncode == 0
    result = fleet(*runs[:-1], tmp_path / "missing.tpk", "--json", "--check", budget_file)
    assert result.returncode == 1
    assert [(one["limit"], one["found"]) for one in json.loads(result.stdout)["budget"]] == [
        ("max_missing_ranks", 2), ("max_unreadable", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "there is no table [fleet]"),
        ("[fleet]\nmax_rank_spread = 10\n", "no key 'max_rank_spread'"),
        ("[fleet]\nmax_rank_spread_pct = true\n", "max_rank_spread_pct is a number"),
        ("[fleet]\nmax_missing_ranks = 1.5\n", "max_missing_ranks is a whole number"),
        ("[fleet]\nmax_missing_ranks = -1\n", "0 or more"),
        ('[fleet]\nforbid = ["slow"]\n', "forbid is a list of rules: slow_rank,"),
        ("[fleet\n", "line 1"),
    ],
)
def test_a_bad_budget_is_refused_before_anything_is_read(tmp_path, text, why):
    pytest.importorskip("tomllib", reason="Python 3.10 reads no TOML")
    result = fleet(tmp_path / "missing.tpk", "--check", limits(tmp_path, text))
    assert result.returncode == 2
    assert str(tmp_path / "turnpike.toml") in result.stderr and why in result.stderr


def test_turnpike_check_knows_the_same_keys():
    source = (ROOT / "src/analyze/budget/budget_file.cpp").read_text()
    table = source[source.index("kFleetKeys[]") :]
    assert tuple(re.findall(r'\{"(\w+)", pass_over\}', table)) == budget.KEYS


def test_the_same_files_give_the_same_answer_to_the_byte(program, tmp_path):  # noqa: F811
    faults = {rank: fault for of_rank in fleet_job.planted(16).values() for rank, fault in of_rank.items() if rank < 16}
    job = write_job(program, tmp_path / "job", steps=FEW_STEPS, ranks=16, faults=faults)
    rolled = tmp_path / "rolled"
    subprocess.run([rollups.executable(), "rollup", *job.iterdir(), "-o", rolled], check=True, capture_output=True)
    answers = {(fleet(rolled).stdout, fleet(rolled, "--json").stdout) for _ in range(5)}
    assert len(answers) == 1
    assert json.loads(answers.pop()[1])["findings"]


@pytest.mark.parametrize("ranks", [1, 3])
def test_too_few_ranks_are_not_said_to_be_alike(program, tmp_path, ranks):  # noqa: F811
    job = write_job(program, tmp_path / "job", steps=FEW_STEPS, ranks=ranks)
    shown = fleet(job).stdout
    assert "No rank differs" not in shown
    count = "1 rank with steps is" if ranks == 1 else "3 ranks with steps are"
    assert f"Not compared: {count} too few" in shown and "It takes 4" in shown
    found = json.loads(fleet(job, "--json").stdout)["fleet"]
    assert (found["is_compared"], found["fewest_ranks"]) == (False, 4)
    page = tmp_path / "fleet.html"
    result = fleet(job, "--html", page)
    assert "Not compared" in page.read_text() and f"wrote {page}" in result.stderr


def write_profile(path, rank, *, backend="nccl", start_us=1000, world_size=2):
    """A file of torch.profiler, which holds one rank."""
    groups = [{"pg_name": "0", "pg_size": world_size, "ranks": list(range(world_size))}]
    info = {"backend": backend, "rank": rank, "world_size": world_size, "pg_count": 1, "pg_config": groups}
    event = {"ph": "X", "pid": 600 + rank, "tid": 1, "cat": "user_annotation"}
    steps = [
        {**event, "name": f"ProfilerStep#{number}", "ts": start_us + 100 * number, "dur": 99} for number in range(5)
    ]
    call = {"ph": "X", "pid": 600 + rank, "tid": 1, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "dur": 5}
    calls = [{**call, "ts": start_us + 100 * number + 9, "args": {"correlation": number + 1}} for number in range(5)]
    path.write_text(json.dumps({"distributedInfo": info, "traceEvents": steps + calls}))
    return path


def test_files_of_torch_profiler_that_are_ranks_of_one_job_miss_no_rank(tmp_path):
    files = [write_profile(tmp_path / f"rank{rank}.json", rank) for rank in (0, 1)]
    assert json.loads(fleet(*files, "--json").stdout)["missing_ranks"] == {}
    files.append(write_profile(tmp_path / "late.json", 1, start_us=900_000))
    assert json.loads(fleet(*files, "--json").stdout)["missing_ranks"] == {"late": [0]}


@pytest.mark.parametrize("other", [{"backend": "gloo"}, {"start_us": 900_000}, {"world_size": 3}])
def test_files_of_two_programs_are_not_joined(tmp_path, other):
    files = [write_profile(tmp_path / "a.json", 0), write_profile(tmp_path / "b.json", 1, **other)]
    missing = json.loads(fleet(*files, "--json").stdout)["missing_ranks"]
    assert missing["a"] == [1] and 0 in missing["b"]


def test_a_recording_that_is_cut_off_makes_the_fleet_incomplete(program, tmp_path):  # noqa: F811
    job = write_job(program, tmp_path / "job", steps=FEW_STEPS, ranks=4)
    assert json.loads(fleet(job, "--json").stdout)["incomplete"] is None
    cut = next(job.glob("*/*.tpt"))
    cut.write_bytes(cut.read_bytes()[:-4000])
    result = fleet(job)
    assert "  INCOMPLETE: 1 file has no end" in result.stdout.splitlines()[1]
    assert "turnpike fleet: INCOMPLETE: 1 file has no end" in result.stderr


def test_sentences_agree_with_how_many_they_are_about():
    ranks = [Rank(str(n), "run", f"host{n}", None, n, n, 4, None, None, None, None, None, 1, 1, 1, 1) for n in range(2)]
    one = Spread(1.0, 1.0, 1.0, 8)

    def finding(ranks, title="takes longer for its own part of a step", z=2000.3):
        return Finding("slow_rank", title, ranks, [], "of the bytes pageable", z, one, one, None, False, "because")

    assert text.sentence(finding(ranks[:1])) == "rank 0 on host0 takes longer for its own part of a step"
    assert text.sentence(finding(ranks)) == "rank 0 on host0, rank 1 on host1 take longer for their own part of a step"
    facts = dict(text.facts_of(finding(ranks)))
    assert facts["these"] == "100 % of the bytes pageable (8 ranks)"
    assert facts["others"].endswith("robust z over 100")
