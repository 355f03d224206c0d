"""Ray itself: unchanged workers of Ray Train are recorded by the environment that `runtime_env()` gives."""

import json
import subprocess

import pytest

from turnpike import _native

# Ray connects to a cluster that runs on this machine, be it another test's.
pytestmark = pytest.mark.alone

TRAINS = """
    import ray
    import ray.train.torch
    from turnpike.integrations.ray import runtime_env

    def train_loop(config):
        import os
        names = {}
        exec(os.environ["HEAD"], names)
        for _ in range(3):
            names["upload"](8 + ray.train.get_context().get_world_rank())

    environment = runtime_env("run.tpk")
    environment["env_vars"] |= {name: os.environ[name] for name in ("HEAD", "FAKES", "TURNPIKE_CUPTI", "PYTHONPATH")}
    ray.init("local", num_cpus=3, include_dashboard=False, runtime_env=environment, log_to_driver=False)
    scaling = ray.train.ScalingConfig(num_workers=2)
    run = ray.train.RunConfig(storage_path=os.path.abspath("results"))
    ray.train.torch.TorchTrainer(train_loop, scaling_config=scaling, run_config=run).fit()
    ray.shutdown()
    print("null")
"""


def test_unchanged_workers_of_ray_train_are_recorded_and_say_which_they_are(program, tmp_path):
    pytest.importorskip("ray.train", reason="Ray is not installed: pip install 'ray[train]'")
    program(TRAINS, RAY_USAGE_STATS_ENABLED="0", RAY_TRAIN_V2_ENABLED="1")
    command = [_native.EXECUTABLE, "report", "--json", tmp_path / "run.tpk"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    report = json.loads(done.stdout)
    found = sorted(report["source"]["identities"], key=lambda one: one["rank"])
    assert [one["rank"] for one in found] == [0, 1]
    for rank, one in enumerate(found):
        assert (one["launcher"], one["local_rank"], one["world_size"], one["node_rank"]) == ("ray", rank, 2, 0)
        assert one["job_id"]
    assert report["totals"]["h2d"]["count"] == 6
