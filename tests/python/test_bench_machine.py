"""The GPU as `turnpike bench` sees it: what is asked of PyTorch, by a PyTorch that writes it down."""

import contextlib
import sys
import types

import pytest
from turnpike._bench import machine
from turnpike._bench.machine import GIB, KIB, MIB, Machine, Nothing, open_machine
from turnpike._bench.timing import POISON, WrongResult


class Device:
    def __init__(self, kind, index=None):
        self.kind, self.index = kind, index

    def __eq__(self, other):
        return (self.kind, self.index) == (other.kind, other.index)

    def __hash__(self):
        return hash((self.kind, self.index))

    def __str__(self):
        return f"{self.kind}:{self.index}"


class Memory:
    """What torch.empty() gives: it only remembers how it was asked for and what filled it."""

    def __init__(self, log, shape, options):
        self.log, self.shape, self.options = log, shape, options

    def fill_(self, value):
        self.log.append(("fill", self.shape, self.options.get("device"), value))
        return self


def torch_of(log, gpus=2, reserved=(0, 512), is_available=True):
    """PyTorch with so many GPUs; `reserved`: what each has taken."""

    def noted(name, value=None):
        def call(*arguments):
            log.append((name, *arguments))
            return value

        return call

    @contextlib.contextmanager
    def stream(which):
        log.append(("use", which))
        yield
        log.append(("leave", which))

    cudart = types.SimpleNamespace(cudaHostRegister=noted("register", 0), cudaHostUnregister=noted("unregister", 0))
    cuda = types.SimpleNamespace(
        is_available=lambda: is_available,
        device_count=lambda: gpus,
        set_device=noted("set_device"),
        can_device_access_peer=noted("can_access", True),
        memory_reserved=lambda which: reserved[which if isinstance(which, int) else which.index],
        max_memory_reserved=noted("peak", 900),
        reset_peak_memory_stats=noted("reset"),
        synchronize=noted("synchronize"),
        Stream=lambda device: ("stream", device),
        current_stream=lambda device: ("current", device),
        stream=stream,
        Event=lambda: "event",
        cudart=lambda: cudart,
        empty_cache=noted("empty_cache"),
        get_device_name=lambda device: f"GPU {device.index}",
        get_device_properties=lambda device: types.SimpleNamespace(pci_domain_id=0, pci_bus_id=0x17, pci_device_id=3),
    )
    return types.SimpleNamespace(
        __version__="2.99",
        cuda=cuda,
        device=Device,
        uint8="uint8",
        empty=lambda shape, **options: Memory(log, shape, options),
        _C=types.SimpleNamespace(_host_emptyCache=noted("empty_host_cache")),
    )


@pytest.fixture
def log():
    return []


@pytest.fixture
def gpu(log):
    return Machine(torch_of(log), None, Device("cuda", 1))


@pytest.mark.parametrize(("index", "wanted"), [(None, 0), (0, 0), (1, 1)])
def test_the_gpu_that_is_asked_for_becomes_the_current_one(log, monkeypatch, index, wanted):
    monkeypatch.setitem(sys.modules, "torch", torch_of(log))
    opened = open_machine(index)
    assert opened.device == Device("cuda", wanted)
    assert opened.tp is sys.modules["turnpike"]
    assert log == [("set_device", Device("cuda", wanted))]


@pytest.mark.parametrize("index", [2, 3])
def test_a_gpu_that_is_not_there_is_refused(log, monkeypatch, index):
    monkeypatch.setitem(sys.modules, "torch", torch_of(log))
    with pytest.raises(Nothing, match=f"^there is no GPU {index}: PyTorch sees 2, counted from 0$"):
        open_machine(index)


def test_without_a_gpu_nothing_can_be_measured(log, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", torch_of(log, is_available=False))
    with pytest.raises(Nothing, match=r"^PyTorch 2\.99 sees no GPU here, and everything here is about one$"):
        open_machine(None)


def test_units_are_powers_of_1024():
    assert (KIB, MIB, GIB) == (1024, 1024**2, 1024**3)


def test_a_real_machine_changes_no_size_and_no_count(gpu):
    assert [gpu.sized(5), gpu.side(6), gpu.workers(7), gpu.steps(8)] == [5, 6, 7, 8]
    assert gpu.device_count() == 2


@pytest.mark.parametrize(("own", "other"), [(0, 1), (1, 0), (5, 0)])
def test_the_other_gpu_is_another_one(log, own, other):
    assert Machine(torch_of(log, gpus=8), None, Device("cuda", own)).other_device() == Device("cuda", other)


def test_only_gpus_in_use_are_waited_for(log):
    Machine(torch_of(log, gpus=3, reserved=(0, 7, 512)), None, Device("cuda", 0)).synchronize()
    assert log == [("synchronize", 1), ("synchronize", 2)]


def test_streams_are_of_the_own_gpu_unless_another_is_named(gpu):
    own, other = Device("cuda", 1), Device("cuda", 0)
    assert gpu.new_stream() == ("stream", own)
    assert gpu.new_stream(other) == ("stream", other)
    assert gpu.current_stream() == ("current", own)
    assert gpu.current_stream(other) == ("current", other)
    assert gpu.new_event() == "event"


def test_reach_is_asked_in_the_order_of_the_devices(gpu, log):
    assert gpu.can_reach("from", "to") is True
    assert log == [("can_access", "from", "to")]


def test_memory_is_page_locked_at_its_address_and_for_its_size(gpu, log):
    tensor = types.SimpleNamespace(data_ptr=lambda: 0x1000, nbytes=64)
    gpu.register(tensor)
    gpu.unregister(tensor)
    assert log == [("register", 0x1000, 64, 0), ("unregister", 0x1000)]


@pytest.mark.parametrize("code", [1, -1])
def test_a_refusal_to_page_lock_is_an_error(gpu, code):
    gpu.torch.cuda.cudart().cudaHostRegister = lambda *_: code
    with pytest.raises(RuntimeError, match=f"^cudaHostRegister of 64 bytes failed with error {code}$"):
        gpu.register(types.SimpleNamespace(data_ptr=lambda: 0x1000, nbytes=64))


def test_tensors_are_asked_for_what_only_they_know(gpu):
    asked = []
    tensor = types.SimpleNamespace(
        record_stream=lambda stream: asked.append(stream), pin_memory=lambda: "pinned", is_pinned=lambda: "perhaps"
    )
    gpu.keep_for(tensor, "side")
    assert asked == ["side"]
    assert gpu.pin(tensor) == "pinned"
    assert gpu.is_pinned(tensor) == "perhaps"
    made = gpu.empty_pinned((2, 3), "float32")
    assert (made.shape, made.options) == ((2, 3), {"dtype": "float32", "pin_memory": True})


def test_page_locked_blocks_go_back_where_pytorch_can_do_that(gpu, log):
    gpu.release_pinned_memory()
    assert log == [("empty_host_cache",)]
    del gpu.torch._C._host_emptyCache
    gpu.release_pinned_memory()
    assert log == [("empty_host_cache",)]


def test_a_peak_begins_with_what_is_taken_when_the_cache_is_empty(gpu, log):
    assert gpu.reset_peak() == 512
    assert log == [("empty_cache",), ("reset", Device("cuda", 1))]
    assert gpu.peak_bytes() == 900


def test_poison_is_allocated_for_each_stream(gpu, log):
    gpu.poison(4096, "side")
    own = Device("cuda", 1)
    fill = ("fill", 4096, own, POISON)
    current = ("current", own)
    assert log == [("use", current), fill, ("leave", current), ("use", "side"), fill, ("leave", "side")]
    assert POISON == 0xA5


def test_a_result_elsewhere_is_wrong(gpu):
    gpu.on_device(types.SimpleNamespace(device=Device("cuda", 1)))
    gpu.on_device(types.SimpleNamespace(device=Device("cpu")), Device("cpu"))
    with pytest.raises(WrongResult, match="^the result lies on cuda:0, not on cuda:1$"):
        gpu.on_device(types.SimpleNamespace(device=Device("cuda", 0)))
    with pytest.raises(WrongResult, match="^the result lies on cuda:1, not on cpu:None$"):
        gpu.on_device(types.SimpleNamespace(device=Device("cuda", 1)), Device("cpu"))


def test_the_pci_address_is_written_as_the_kernel_does(gpu):
    assert gpu.pci_address() == "0000:17:03.0"
    gpu.torch.cuda.get_device_properties = lambda _: types.SimpleNamespace(pci_domain_id=1, pci_bus_id=0xAB)
    assert gpu.pci_address() is None


def test_facts_are_those_of_the_machine_and_of_the_engine(gpu, monkeypatch):
    monkeypatch.setattr(machine.result, "versions", lambda: {"torch": "of the package", "driver": "595"})
    stats = types.SimpleNamespace(threads=8, chunk_bytes=4 << 20, pinned_limit_bytes=64 << 20, pending=3)
    gpu.tp = types.SimpleNamespace(move_stats=lambda: stats)
    assert gpu.facts() == {
        "device": "GPU 1",
        "device_count": 2,
        "versions": {"torch": "2.99", "driver": "595"},
        "settings": {"threads": 8, "chunk_bytes": 4 << 20, "pinned_limit_bytes": 64 << 20},
    }


def test_a_trace_holds_what_the_device_has_finished(gpu, log, tmp_path):
    class Profile:
        def __init__(self, activities):
            log.append(("profile", *activities))

        def __enter__(self):
            return self

        def __exit__(self, *_):
            log.append("end")

        def export_chrome_trace(self, path):
            log.append(("export", path))

    activity = types.SimpleNamespace(CPU="cpu", CUDA="cuda")
    gpu.torch.profiler = types.SimpleNamespace(ProfilerActivity=activity, profile=Profile)
    path = str(tmp_path / "made" / "trace.json")
    for _ in range(2):  # the folder may be there
        log.clear()
        with gpu.profile(path):
            log.append("run")
        assert log == [("profile", "cpu", "cuda"), "run", ("synchronize", 1), "end", ("export", path)]
    assert (tmp_path / "made").is_dir()
