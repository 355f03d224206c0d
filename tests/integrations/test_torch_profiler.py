"""torch.profiler in the same process, on the CPU: both get what they would get alone, in whatever order they begin."""

import pytest

# The profiler itself imports the last one, which takes a second.
IMPORTED = ["torch.profiler", "pyarrow", "torch._inductor.config"]

PROFILED = """
import warnings
warnings.filterwarnings("ignore")
import turnpike as tp
from torch.profiler import ProfilerActivity, profile, schedule

def work(times=3):
    for size in range(1, 1 + times):
        with torch.profiler.record_function("step_of_the_program"):
            torch.ones(4).add(1)
        upload(size)

def marks(profiler):
    return {event.key: event.count for event in profiler.key_averages()}.get("step_of_the_program", 0)

def cpu():
    return profile(activities=[ProfilerActivity.CPU])
"""


@pytest.mark.parametrize(
    "nested",
    [
        """
with tp.record("run.tpk"):
    with cpu() as profiler:
        work()
""",
        """
with cpu() as profiler:
    with tp.record("run.tpk"):
        work()
""",
        """
tp.start("run.tpk")
profiler = cpu()
profiler.start()
work()
tp.stop()
profiler.stop()
""",
        """
profiler = cpu()
profiler.start()
tp.start("run.tpk")
work()
profiler.stop()
tp.stop()
""",
    ],
    ids=["inside", "outside", "begins later", "ends earlier"],
)
def test_both_see_all_of_it(program, nested):
    _, told = program(PROFILED + nested + 'assert marks(profiler) == 3, marks(profiler)\ntell(tp.report("run.tpk"))\n')
    assert told["sizes"] == {"1": 1, "2": 1, "3": 1}


def test_a_profile_after_a_recording_and_a_recording_after_a_profile(program):
    _, told = program(
        PROFILED
        + """
for number in range(3):
    with tp.record("run.tpk"):
        work()
    with cpu() as profiler:
        work(2)
    assert marks(profiler) == 2
tell(tp.report("run.tpk"))
"""
    )
    assert told["sizes"] == {"1": 3, "2": 3, "3": 3}  # and nothing of what happened between


def test_a_schedule_of_the_profiler_goes_on_over_recordings(program):
    _, told = program(
        PROFILED
        + """
counts = []
scheduled = profile(
    activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
    on_trace_ready=lambda one: counts.append(marks(one)),
)
with scheduled:
    for step in range(8):
        with tp.record("run.tpk"):
            work(1)
        scheduled.step()
assert counts == [2, 2], counts
tell(tp.report("run.tpk"))
"""
    )
    assert told["sizes"] == {"1": 8}


def test_what_pytorch_calls_of_cupti_comes_to_the_recorder(program):
    """In the memory of PyTorch that the loader has filled with addresses of functions. It links against its own CUPTI,
    which is another one than the fakes': only the way is tested here."""
    lines, _ = program("""
import array, turnpike as tp

def maps(name):
    return [line for line in open("/proc/self/maps") if os.path.basename(line.split()[-1]).startswith(name)]

def bounds(line):
    return tuple(int(number, 16) for number in line.split()[0].split("-"))

def leading_to_the_recorder():
    code = [bounds(line) for line in maps("libturnpike_record")]
    found = 0
    with open("/proc/self/mem", "rb") as memory:
        for begin, end in (bounds(line) for line in maps("libtorch_cpu") if line.split()[1].startswith("rw")):
            memory.seek(begin)
            words = array.array("Q", memory.read(end - begin))
            found += sum(any(low <= word < high for low, high in code) for word in words)
    return found

with tp.record("run.tpk"):
    print(leading_to_the_recorder())
print(8 if torch.version.cuda else 0)
print("null")
""")
    *_, found, wanted, _ = lines.splitlines()
    assert found == wanted


def test_the_profile_is_exported_whole(program, tmp_path):
    program(
        PROFILED
        + """
with tp.record("run.tpk"), cpu() as profiler:
    work()
profiler.export_chrome_trace("trace.json")
with open("trace.json") as file:
    names = [event.get("name") for event in json.load(file)["traceEvents"]]
assert names.count("step_of_the_program") == 3, names
print("null")
"""
    )
    assert (tmp_path / "trace.json").exists()


def test_a_guard_disturbs_neither(program):
    _, told = program(
        PROFILED
        + """
with tp.record("run.tpk"), cpu() as profiler:
    try:
        with tp.guard(h2d="disallow", d2h="disallow", sync="disallow"):
            work()
    except tp.TransferError as error:
        assert (error.kind, error.exact, error.function) == ("h2d", False, "upload"), vars(error)
    else:
        assert not torch.version.cuda, "the upload passes the guard by: the recorder has seen it"
assert marks(profiler) == 3, marks(profiler)
tell(tp.report("run.tpk"))
"""
    )
    assert told["sizes"] == {"1": 1, "2": 1, "3": 1}


def test_a_limited_test_may_profile(program, tmp_path):
    (tmp_path / "test_profiled.py").write_text(
        """
import pytest, torch
from torch.profiler import ProfilerActivity, profile

@pytest.mark.limit_transfers(h2d=0, guard=True)
def test_it():
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        torch.ones(4).add(1)
    assert "aten::add" in {event.key for event in profiler.key_averages()}
"""
    )
    shown, _ = program("""
import subprocess
command = [sys.executable, "-m", "pytest", "-p", "pytest_turnpike", "-p", "no:cacheprovider", "test_profiled.py"]
done = subprocess.run(command, capture_output=True, text=True)
assert done.returncode == 0, done.stdout + done.stderr
print(done.stdout)
print("null")
""")
    assert "1 passed" in shown
