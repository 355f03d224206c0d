"""Which process of which job a file is of: torchrun itself, and the variables of Slurm, Kubernetes and Ray."""

import json
import os
import socket
import subprocess

import pytest

from turnpike import _native
from turnpike.integrations.ray import runtime_env

RECORD = """
import turnpike
with turnpike.record("run.tpk"):
    upload(8)
print("null")
"""


def identities(run):
    command = [_native.EXECUTABLE, "report", "--json", run]
    result = subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    return json.loads(result.stdout)["source"]["identities"]


def test_a_process_without_a_launcher_has_its_id_and_its_machine(program, tmp_path):
    program(RECORD)
    (one,) = identities(tmp_path / "run.tpk")
    assert one.pop("pid") == int(next((tmp_path / "run.tpk").glob("*.tpt")).stem)
    assert one.pop("host") == socket.gethostname()
    assert set(one.values()) == {None}


def test_each_process_of_torchrun_says_which_it_is(program, tmp_path):
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    options = ["--nproc-per-node", "2", "--master-addr", "127.0.0.1", "--master-port", str(port), "--rdzv-id", "job-a"]
    program(RECORD, launcher=["-m", "torch.distributed.run", *options])
    found = identities(tmp_path / "run.tpk")
    assert [one["rank"] for one in found] == [0, 1]
    for rank, one in enumerate(found):
        assert (one["local_rank"], one["world_size"], one["local_world_size"], one["node_rank"]) == (rank, 2, 2, 0)
        assert (one["restart_count"], one["launcher"], one["job_id"]) == (0, "torchrun", "job-a")
    assert sorted(path.name.split("-")[0] for path in (tmp_path / "run.tpk").iterdir()) == ["rank0", "rank1"]


@pytest.mark.parametrize(
    "variables, expected",
    [
        (
            {
                "SLURM_JOB_ID": "77", "SLURM_PROCID": "9", "SLURM_LOCALID": "1", "SLURM_NTASKS": "16",
                "SLURM_NODEID": "1", "SLURMD_NODENAME": "gpu-1", "SLURM_RESTART_COUNT": "2",
            },
            {
                "job_id": "77", "rank": 9, "local_rank": 1, "world_size": 16, "node_rank": 1, "node": "gpu-1",
                "restart_count": 2, "launcher": "slurm", "local_world_size": None,
            },
        ),
        (
            {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "JOB_COMPLETION_INDEX": "3", "NODE_NAME": "node-c"},
            {"node_rank": 3, "node": "node-c", "launcher": "kubernetes", "rank": None},
        ),
        (
            # What Ray Train sets in its workers.
            {
                "RAY_JOB_ID": "01000000", "RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2",
                "NODE_RANK": "0",
            },
            {
                "job_id": "01000000", "rank": 1, "local_rank": 1, "world_size": 4, "local_world_size": 2,
                "node_rank": 0, "launcher": "ray",
            },
        ),
    ],
    ids=["slurm", "kubernetes", "ray"],
)  # fmt: skip
def test_the_variables_of_schedulers_are_in_the_report(program, tmp_path, variables, expected):
    program(RECORD, **variables)
    (one,) = identities(tmp_path / "run.tpk")
    assert {name: one[name] for name in expected} == expected


def test_the_environment_for_workers_of_ray_has_an_unchanged_program_recorded(program, tmp_path, fakes):
    variables = runtime_env(tmp_path / "run.tpk", detail="transfers")["env_vars"]
    assert all(isinstance(value, str) for value in variables.values())
    assert os.path.isabs(runtime_env("run.tpk")["env_vars"]["TURNPIKE_RUN"])
    # `turnpike record` sets the same, the page for its status line, and what it shares with processes of its machine.
    command = [_native.EXECUTABLE, "record", "--detail", "transfers", "-o", tmp_path / "run.tpk", "--", "env", "-0"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL).stdout
    theirs = dict(line.split("=", 1) for line in shown.split("\0") if "=" in line)
    set_by_record = {name for name in theirs if name.startswith(("TURNPIKE_", "CUDA_INJ", "NVTX_INJ"))}
    set_by_record -= {name for name in os.environ if name.startswith("TURNPIKE_")} | {"TURNPIKE_STATUS"}
    set_by_record.discard("TURNPIKE_ESTATES")
    assert set_by_record <= set(variables)
    assert all(theirs[name] == variables[name] for name in set_by_record)
    program("upload(8)\nprint('null')", **variables)
    assert len(identities(tmp_path / "run.tpk")) == 1


def test_an_unknown_detail_is_refused():
    with pytest.raises(ValueError, match="'all'"):
        runtime_env("run.tpk", detail="all")
