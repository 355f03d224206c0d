"""A job of Slurm itself: a controller and a node on this machine, and `srun` as the page about clusters shows it."""

import contextlib
import json
import os
import pathlib
import secrets
import shutil
import socket
import subprocess
import tempfile
import time

import pytest

from turnpike import _native

CONFIGURATION = """
ClusterName=alone
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/node.pid
SlurmctldLogFile={folder}/controller.log
SlurmdLogFile={folder}/node.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/builtin
SelectType=select/linear
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP MaxTime=INFINITE OverSubscribe=YES
"""
# Commands of administrators: no PATH of a user's need have them.
PATH = f"{os.environ['PATH']}{os.pathsep}/usr/sbin"
DAEMONS = ("munged", "slurmctld", "slurmd", "srun")


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def wait_for_node(environment):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        state = subprocess.run(["sinfo", "-h", "-o", "%t"], env=environment, capture_output=True, text=True)
        if state.stdout.strip() == "idle":
            return
        time.sleep(0.2)
    raise TimeoutError(f"Slurm's node is not ready: {state.stdout}{state.stderr}")


@pytest.fixture
def cluster():
    """The environment for commands of a Slurm with one node, this machine."""
    missing = [name for name in DAEMONS if shutil.which(name, path=PATH) is None]
    if missing:
        pytest.skip(f"{missing[0]} is not installed: Debian's packages slurm-wlm and munge have it")
    if os.geteuid() != 0:
        pytest.skip("Slurm's node runs jobs as root only")
    # Not pytest's folder: munge wants one that everyone can enter and nobody else can change.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with running_cluster(pathlib.Path(folder)) as environment:
            yield environment


@contextlib.contextmanager
def running_cluster(folder):
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    controller, node = free_ports(2)
    configuration = folder / "slurm.conf"
    configuration.write_text(
        CONFIGURATION.format(
            host=socket.gethostname(), folder=folder, controller=controller, node=node, cores=os.cpu_count()
        )
    )
    environment = {**os.environ, "PATH": PATH, "SLURM_CONF": str(configuration)}
    munge = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.socket"]
    munge += [f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/seed"]
    daemons = []
    try:
        for command in (munge, ["slurmctld", "-D"], ["slurmd", "-D"]):
            daemons.append(
                subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            )
        wait_for_node(environment)
        yield environment
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait(30)


def test_each_task_of_srun_has_a_run_and_says_which_it_is(cluster, program, tmp_path):
    text = f"""
        import subprocess
        tasks = "'{_native.EXECUTABLE}' record -o '{tmp_path}'/run-$SLURM_PROCID.tpk -- '{{}}' -c \\"$PROGRAM\\""
        environment = {{**os.environ, "SLURM_CONF": {cluster["SLURM_CONF"]!r}}}
        environment["PROGRAM"] = os.environ["HEAD"] + "upload(8)"
        command = ["srun", "--ntasks", "2", "--overcommit", "bash", "-c", tasks.format(sys.executable)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        print("null")
    """
    program(text)
    report = [_native.EXECUTABLE, "report", "--json", *sorted(tmp_path.glob("run-*.tpk"))]
    done = subprocess.run(report, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    found = json.loads(done.stdout)["source"]["identities"]
    assert sorted(one["rank"] for one in found) == [0, 1]
    for one in found:
        assert (one["launcher"], one["world_size"], one["node_rank"]) == ("slurm", 2, 0)
        assert (one["local_rank"], one["node"]) == (one["rank"], socket.gethostname())
        assert one["job_id"]
