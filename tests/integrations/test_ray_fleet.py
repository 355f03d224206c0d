"""`turnpike fleet --engine ray` on a cluster of Ray with two nodes on this machine."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import fleet_job  # noqa: E402

# Ray connects to a cluster that runs on this machine, be it another test's.
pytestmark = pytest.mark.alone

RANKS = 8


@pytest.fixture
def cluster(monkeypatch):
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'turnpike-gpu[ray]'")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        yield cluster.address
    finally:
        cluster.shutdown()


@pytest.fixture
def job(tmp_path):
    build = os.environ.get("TURNPIKE_BUILD")
    if not build:
        pytest.fail("TURNPIKE_BUILD is not set: name the folder in which Turnpike was built", pytrace=False)
    for rank in range(RANKS):
        values = fleet_job.arguments(rank, RANKS, 1, 300, {5: {"rate": 0.5}} if rank == 5 else {})
        fleet_job.write_rank(pathlib.Path(build).resolve() / "bench/fleet_traces", tmp_path / "job", rank, values)
    return tmp_path / "job"


def fleet(*words):
    command = [sys.executable, "-m", "turnpike", "fleet", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


def test_a_cluster_gives_the_same_answer_as_this_machine(cluster, job):
    cut = next((job / "run-3.tpk").iterdir())
    cut.write_bytes(b"no recording")
    here = fleet(job, "--json")
    there = fleet(job, "--json", "--engine", "ray", "--ray-address", cluster)
    assert (there.returncode, here.returncode) == (3, 3), there.stderr
    assert json.loads(there.stdout) == json.loads(here.stdout)
    assert "3" in there.stderr and cut.name in there.stderr


def test_a_cluster_that_is_not_there_is_an_error(job):
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'turnpike-gpu[ray]'")
    result = fleet(job, "--engine", "ray", "--ray-address", "127.0.0.1:1")
    assert result.returncode == 4
    assert "Ray cannot be used" in result.stderr
