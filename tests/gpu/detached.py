"""With TURNPIKE_DETACH=1, tp.stop() detaches CUPTI where that is safe: run with pytest on a machine with a GPU.

    python -m pytest -n 6 tests/gpu/detached.py

Each test runs one program in a process of its own. It must end well, its results must be right, and of its recordings
everything must be there.
"""

import json
import os
import subprocess
import sys
import textwrap

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a GPU", allow_module_level=True)

TURNPIKE = os.environ.get("TURNPIKE", "turnpike")
COMMON = """
    import ctypes, os, sys, threading, time
    import torch
    import turnpike as tp

    torch.ones(1, device="cuda")

    def is_attached():
        for line in open("/proc/self/maps"):
            if "libturnpike_record" in line:
                return ctypes.CDLL(line.split()[-1]).turnpike_is_attached() == 1
        raise AssertionError("the recorder is not loaded")

    def milliseconds(function, *arguments):
        begin = time.monotonic()
        function(*arguments)
        return 1000 * (time.monotonic() - begin)

    def middle(values):
        return f"{sorted(values)[len(values) // 2]:.1f} ms (at most {max(values):.1f})"
"""


@pytest.fixture
def run(tmp_path):
    def run_program(*parts):
        program = tmp_path / "program.py"
        program.write_text("\n".join(textwrap.dedent(part) for part in (COMMON, *parts)))
        command = [sys.executable, str(program)]
        environment = os.environ | {"TURNPIKE_DETACH": "1"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path, env=environment)
        print(done.stdout)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]

    run_program.folder = tmp_path
    return run_program


def report(path):
    done = subprocess.run([TURNPIKE, "report", str(path), "--json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def uploads_at(found, line):
    return sum(site["count"] for site in found["sites"] if site["direction"] == "h2d" and site["line"] == line)


# Copies of both kinds of memory, kernels on a stream of its own, and events; in the last thread graphs that are
# captured and not launched.
BUSY = """
    cudart = ctypes.CDLL("libcudart.so." + torch.version.cuda.split(".")[0])
    is_over = threading.Event()
    rounds = [0] * 8
    wrong = []

    def busy(number):
        pinned = torch.full((1 << 16,), float(number), pin_memory=True)
        pageable = torch.full((1 << 12,), float(number))
        with torch.cuda.stream(torch.cuda.Stream()):
            while not is_over.is_set():
                device = pinned.to("cuda", non_blocking=True)
                for _ in range(10):
                    device = device * 1.0 + 0.0
                other = pageable.to("cuda")
                event = torch.cuda.Event()
                event.record()
                event.synchronize()
                if device[7].item() != number or other.sum().item() != number * (1 << 12):
                    wrong.append(number)
                rounds[number] += 1

    def capture(number):
        stream = ctypes.c_void_p()
        # Non-blocking: a copy in the default stream would break the capture of another one, and fail.
        assert cudart.cudaStreamCreateWithFlags(ctypes.byref(stream), 1) == 0
        memory = torch.zeros(1 << 16, dtype=torch.uint8, device="cuda")
        address, size = ctypes.c_void_p(memory.data_ptr()), ctypes.c_size_t(1 << 16)
        while not is_over.is_set():
            graph, ready = ctypes.c_void_p(), ctypes.c_void_p()
            codes = [
                cudart.cudaStreamBeginCapture(stream, 2),
                cudart.cudaMemsetAsync(address, 1, size, stream),
                cudart.cudaStreamEndCapture(stream, ctypes.byref(graph)),
                cudart.cudaGraphInstantiate(ctypes.byref(ready), graph, ctypes.c_ulonglong(0)),
                cudart.cudaGraphExecDestroy(ready),
                cudart.cudaGraphDestroy(graph),
            ]
            if any(codes):
                wrong.append(codes)
            rounds[number] += 1
            time.sleep(0.001)

    threads = [
        threading.Thread(target=capture if number == 7 else busy, args=(number,), daemon=True) for number in range(8)
    ]
    for thread in threads:
        thread.start()

    def end():
        is_over.set()
        for thread in threads:
            thread.join()
        torch.cuda.synchronize()
        print("rounds", rounds)
        assert not wrong, wrong[:5]
        assert all(rounds)
"""


def line_of(program, mark):
    return next(number for number, line in enumerate(program.splitlines(), 1) if mark in line)


def test_never_while_eight_threads_call_cuda(run):
    run(
        BUSY,
        """
        mine = torch.zeros(12345)

        def recorded(name):
            tp.start(name)
            for _ in range(5):
                mine.to("cuda")  # counted
            tp.stop()

        for number in range(40):
            recorded(f"{number}.tpk")
            assert is_attached()
        end()
        for number in range(40, 60):
            recorded(f"{number}.tpk")
            assert not is_attached()
        """,
    )
    line = line_of((run.folder / "program.py").read_text(), "# counted")
    for number in [*range(0, 60, 9), 39, 40, 59]:
        found = report(run.folder / f"{number}.tpk")
        assert uploads_at(found, line) == 5, (number, found["losses"])


# Training with autograd's thread and several streams.
def test_after_each_of_many_recordings(run):
    run(
        """
        model = torch.nn.Linear(64, 64).cuda()
        side = torch.cuda.Stream()
        host = torch.randn(32, 64)
        starts, stops = [], []
        for number in range(200):
            starts.append(milliseconds(lambda: tp.start(f"{number}.tpk")))
            for _ in range(3):
                model(host.to("cuda")).sum().backward()
            with torch.cuda.stream(side):
                host.to("cuda").sum().item()
            stops.append(milliseconds(tp.stop))
            assert not is_attached()
            assert torch.ones(10, device="cuda").sum().item() == 10
        print("start", middle(starts[1:]), "stop", middle(stops))
        """,
    )
    for number in range(0, 200, 20):
        totals = report(run.folder / f"{number}.tpk")["totals"]
        assert (totals["h2d"]["count"], totals["d2h"]["count"]) == (4, 1)


def test_a_thread_that_waits_in_a_call_keeps_it_attached(run):
    run(
        """
        def wait():
            torch.cuda._sleep(2_000_000_000)
            torch.cuda.synchronize()

        torch.cuda.synchronize()
        tp.start("0.tpk")
        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.2)
        tp.stop()
        assert is_attached()
        thread.join()
        tp.start("1.tpk")
        torch.ones(5).to("cuda")
        tp.stop()
        assert not is_attached()
        """
    )


# A thread of a name that does no harm, which counts while the GPU works on what was queued before tp.stop().
def test_stop_waits_for_the_gpu_and_lets_other_threads_run(run):
    run(
        """
        is_over = threading.Event()
        ticks = []

        def tick():
            while not is_over.wait(0.001):
                ticks.append(time.monotonic())

        thread = threading.Thread(target=tick, name="QueueFeederThread")
        thread.start()
        took = []
        for number in range(10):
            torch.cuda.synchronize()
            tp.start(f"{number}.tpk")
            torch.ones(5).to("cuda")
            torch.cuda._sleep(1_000_000_000)
            with torch.cuda.stream(torch.cuda.Stream()):
                torch.cuda._sleep(1_000_000_000)
            before = time.monotonic()
            tp.stop()
            took.append(1000 * (time.monotonic() - before))
            if took[-1] > 100:
                longest = max(b - a for a, b in zip(ticks, ticks[1:]) if b > before)
                assert longest < 0.1, "it had to wait while the GPU worked"
        is_over.set()
        thread.join()
        print("stop", middle(took))
        assert sorted(took)[5] > 100, "the GPU was not busy"
        assert not is_attached()
        """
    )
    assert report(run.folder / "9.tpk")["totals"]["h2d"]["count"] == 1


def test_gpu_work_that_takes_too_long_keeps_it_attached(run):
    run(
        """
        tp.start("0.tpk")
        torch.cuda._sleep(60_000_000_000)
        took = milliseconds(tp.stop)
        assert 10_000 < took < 15_000, took
        assert is_attached()
        tp.start("1.tpk")
        torch.ones(5).to("cuda")
        assert milliseconds(tp.stop) < 5_000, "it does not wait twice"
        assert is_attached()
        """
    )


def test_a_pin_memory_thread_keeps_it_attached(run):
    run(
        """
        data = torch.utils.data.TensorDataset(torch.randn(640, 8))
        batches = iter(torch.utils.data.DataLoader(data, batch_size=8, num_workers=1, pin_memory=True))
        next(batches)
        tp.start("0.tpk")
        next(batches)[0].to("cuda")
        tp.stop()
        assert is_attached()
        """
    )


GRAPH = """
    x = torch.zeros(1000, device="cuda")
    host = torch.ones(1000, pin_memory=True)

    def captured():
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            x.copy_(host, non_blocking=True)
            x.add_(1)
        return graph

    def replay(graph, value):
        host.fill_(value)
        graph.replay()
        torch.cuda.synchronize()
        assert x.sum().item() == 1000 * (value + 1)
"""


def test_a_graph_that_was_launched_while_recorded_keeps_it_attached(run):
    run(
        GRAPH,
        """
        graph = captured()
        for number in range(10):
            replay(graph, number)
            tp.start(f"{number}.tpk", detail="full" if number % 2 else "transfers")
            replay(graph, number + 100)
            tp.stop()
            assert is_attached()
            replay(graph, number + 200)
        """,
    )
    for number in range(10):
        assert report(run.folder / f"{number}.tpk")["totals"]["d2h"]["count"] == 1


def test_graphs_that_were_not_launched_while_recorded_do_no_harm(run):
    run(
        GRAPH,
        """
        before = captured()
        replay(before, 1)
        for number in range(5):
            tp.start(f"{number}.tpk")
            inside = captured()
            x.to("cpu")
            tp.stop()
            assert not is_attached()
            for value in range(20):
                replay(before, value)
                replay(inside, value)
            replay(captured(), 7)
        """,
    )


def test_a_graph_that_is_being_captured_keeps_it_attached_and_is_whole(run):
    run(
        GRAPH,
        """
        captured()
        tp.start("0.tpk")
        host.to("cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            x.copy_(host, non_blocking=True)
            x.add_(1)
            tp.stop()
            assert is_attached()
        for value in range(10):
            replay(graph, value)
        """,
    )


PROFILE = """
    from torch.profiler import ProfilerActivity, profile

    def profiled():
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            y = torch.ones(1000).to("cuda")
            (y * 2).sum().item()
        names = [event.key for event in profiler.key_averages()]
        assert any("Memcpy HtoD" in name for name in names), names
        assert any("kernel" in name for name in names), names

    def recorded(number):
        tp.start(f"{number}.tpk")
        torch.ones(1000).to("cuda")
        tp.stop()
        return is_attached()
"""


def test_beside_torch_profiler(run):
    run(
        PROFILE,
        """
        assert not recorded(0)
        assert not recorded(1)
        profiled()
        assert recorded(2)
        profiled()
        tp.start("3.tpk")
        profiled()
        torch.ones(1000).to("cuda")
        tp.stop()
        profiled()
        assert recorded(4)
        profiled()
        """,
    )
    for number in (0, 1, 2, 4):
        assert report(run.folder / f"{number}.tpk")["totals"]["h2d"]["count"] == 1, number


def test_after_torch_profiler(run):
    run(
        PROFILE,
        """
        profiled()
        try:
            recorded(0)
            print("recorded")
        except tp.Error as error:
            assert "another tool is using CUPTI" in str(error), error
            assert not os.path.exists("0.tpk")
        profiled()
        """,
    )
    recorded = run.folder / "0.tpk"
    if recorded.exists():
        assert report(recorded)["totals"]["h2d"]["count"] == 1


def test_compiled_graphs(run):
    run(
        """
        model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)).cuda()
        fast = torch.compile(model, mode="reduce-overhead")
        x = torch.randn(32, 64, device="cuda")

        def step():
            with torch.no_grad():
                got, expected = fast(x).clone(), model(x)
            assert torch.allclose(got, expected, atol=1e-2), (got - expected).abs().max()

        tp.start("0.tpk")
        x.to("cpu")
        tp.stop()
        assert not is_attached()
        for _ in range(10):
            step()
        for number in range(1, 4):
            tp.start(f"{number}.tpk")
            step()
            tp.stop()
            assert is_attached()
            for _ in range(10):
                step()
        """
    )
