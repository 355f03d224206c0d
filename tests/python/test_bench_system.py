"""What `turnpike bench` asks of the system: NUMA nodes, and the memory that a process has resident."""

import ctypes
import io
import json
import mmap
import types

import pytest
from turnpike._bench import numa, resident


@pytest.fixture
def libc(monkeypatch):
    """A C library whose system calls are written down; `answer` and `node` are what they give."""
    made = types.SimpleNamespace(calls=[], answer=0, node=1)

    def syscall(*arguments):
        if len(arguments) == 7 and arguments[4] is None:  # move_pages
            made.calls.append((arguments[0], arguments[1], arguments[2].value, arguments[3]._obj.value, arguments[6]))
            arguments[5]._obj.value = made.node
        else:
            number, address, size, policy, mask, bits, flags = arguments
            made.calls.append((number, size.value, policy, mask._obj.value, bits.value, flags))
            made.address = address.value
            ctypes.set_errno(22 if made.answer else 0)
        return made.answer

    monkeypatch.setattr(numa.ctypes, "CDLL", lambda name, use_errno: types.SimpleNamespace(syscall=syscall))
    return made


@pytest.mark.parametrize(("machine", "number"), [("x86_64", 279), ("aarch64", 239)])
def test_the_node_of_memory_is_that_of_its_page(libc, monkeypatch, machine, number):
    monkeypatch.setattr(numa.platform, "machine", lambda: machine)
    assert numa.node_of_memory(5 * mmap.PAGESIZE + 7) == 1
    assert libc.calls == [(number, 0, 1, 5 * mmap.PAGESIZE, 0)]


@pytest.mark.parametrize(("answer", "node", "wanted"), [(0, 0, 0), (0, -1, None), (0, -14, None), (-1, 1, None)])
def test_a_node_that_is_not_told_is_none(libc, monkeypatch, answer, node, wanted):
    monkeypatch.setattr(numa.platform, "machine", lambda: "x86_64")
    libc.answer, libc.node = answer, node
    assert numa.node_of_memory(mmap.PAGESIZE) == wanted


@pytest.mark.parametrize(("machine", "number"), [("x86_64", 237), ("aarch64", 235)])
def test_memory_is_bound_to_its_node_as_a_whole(libc, monkeypatch, machine, number):
    monkeypatch.setattr(numa.platform, "machine", lambda: machine)
    memory = numa.memory_on(3, 1 << 16)
    assert libc.calls == [(number, 1 << 16, 2, 1 << 3, 64, 0)]
    assert ctypes.addressof(ctypes.c_char.from_buffer(memory)) == libc.address
    assert len(memory) == 1 << 16


def test_memory_of_a_node_that_is_refused_is_an_error(libc, monkeypatch):
    monkeypatch.setattr(numa.platform, "machine", lambda: "x86_64")
    libc.answer = -1
    with pytest.raises(OSError, match="memory of NUMA node 3 is refused: Invalid argument") as refused:
        numa.memory_on(3, 1 << 16)
    assert refused.value.errno == 22


def test_on_other_processors_no_way_is_known(monkeypatch):
    monkeypatch.setattr(numa.platform, "machine", lambda: "sparc")
    assert numa.node_of_memory(mmap.PAGESIZE) is None
    with pytest.raises(OSError, match="no way known to choose a NUMA node on sparc"):
        numa.memory_on(0, 4096)


def test_nodes_are_those_with_memory(tmp_path):
    (tmp_path / "has_memory").write_text("0,2-3\n")
    assert numa.nodes(str(tmp_path)) == [0, 2, 3]
    assert numa.nodes(str(tmp_path / "nowhere")) == []
    assert numa.NODES == "/sys/devices/system/node"


@pytest.mark.parametrize("text", ["", "no number\n"])
def test_a_gpu_whose_node_is_no_number_has_none(tmp_path, text):
    (tmp_path / "0000:17:00.0").mkdir()
    (tmp_path / "0000:17:00.0" / "numa_node").write_text(text)
    assert numa.node_of_gpu("0000:17:00.0", str(tmp_path)) is None


def test_node_0_is_a_node(tmp_path):
    (tmp_path / "0000:17:00.0").mkdir()
    (tmp_path / "0000:17:00.0" / "numa_node").write_text("0\n")
    assert numa.node_of_gpu("0000:17:00.0", str(tmp_path)) == 0


@pytest.mark.parametrize(
    ("nodes", "gpu", "sentence"),
    [
        ([], 0, "this system does not tell its NUMA nodes"),
        ([0], 0, "this machine has one NUMA node"),
        ([0, 1], 0, "the GPU is at NUMA node 0; the source: node 0; the target: not known"),
        ([0, 1], None, "the GPU's NUMA node is not known; the source: node 0; the target: not known"),
    ],
)
def test_the_sentence_about_nodes(monkeypatch, nodes, gpu, sentence):
    monkeypatch.setattr(numa, "nodes", lambda: nodes)
    monkeypatch.setattr(numa, "node_of_gpu", lambda address: gpu if address == "0000:17:00.0" else "?")
    monkeypatch.setattr(numa, "node_of_memory", {1: 0, 2: None}.get)
    tensors = {
        f"the {name}": types.SimpleNamespace(data_ptr=lambda at=at: at) for name, at in (("source", 1), ("target", 2))
    }
    assert numa.sentence("0000:17:00.0", tensors) == sentence


# Resident memory


@pytest.fixture
def files(monkeypatch):
    """/proc/self: what status says, and what is written to clear_refs."""
    made = types.SimpleNamespace(status="VmHWM:\t    2048 kB\nVmRSS:\t  1000 kB\n", written=[])

    class Written(io.StringIO):
        def __exit__(self, *_):
            made.written.append(self.getvalue())

    def opened(path, mode="r"):
        if (path, mode) == ("/proc/self/clear_refs", "w"):
            return Written()
        assert (path, mode) == ("/proc/self/status", "r")
        return io.StringIO(made.status)

    monkeypatch.setattr("builtins.open", opened)
    return made


def test_resident_bytes_are_read_in_kibibytes(files):
    assert resident.resident_bytes("VmRSS") == 1000 * 1024
    assert resident.resident_bytes("VmHWM") == 2048 * 1024
    with pytest.raises(RuntimeError, match="^/proc/self/status has no VmSwap$"):
        resident.resident_bytes("VmSwap")


def test_the_peak_is_begun_anew(files):
    resident.reset_peak()
    assert files.written == ["5"]


class Tensor:
    """Notes what is done with it."""

    def __init__(self, log, *made):
        self.log, self.last = log, 1
        log.append(made)

    def fill_(self, value):
        self.log.append(("fill", value))
        return self

    def pin_memory(self):
        self.log.append("pin_memory")
        return self

    def to(self, device):
        self.log.append(("to", device))
        return self

    def __getitem__(self, index):
        assert index == -1
        return self.last


def torch_of(log):
    return types.SimpleNamespace(
        uint8="uint8",
        ones=lambda size, dtype: Tensor(log, "ones", size, dtype),
        empty=lambda size, dtype, pin_memory: Tensor(log, "empty", size, dtype, pin_memory),
    )


@pytest.mark.parametrize(
    ("mode", "done"),
    [
        ("pageable", [("ones", 64, "uint8")]),
        ("pinned at allocation", [("empty", 64, "uint8", True), ("fill", 1)]),
        ("pin_memory() afterwards", [("ones", 64, "uint8"), "pin_memory"]),
        ("Turnpike, in place", [("ones", 64, "uint8"), "pin_", "unpin_"]),
    ],
)
def test_each_way_takes_its_memory(monkeypatch, mode, done):
    import turnpike

    log = []
    monkeypatch.setattr(turnpike, "pin_", lambda tensor: log.append("pin_"))
    monkeypatch.setattr(turnpike, "unpin_", lambda tensor: log.append("unpin_"))
    resident.give_back(mode, resident.take(mode, 64, torch_of(log)))
    assert log == done


def test_the_peak_is_told_over_what_was_resident_before(monkeypatch):
    log, shown = [], {"VmRSS": 1000, "VmHWM": 5000}
    monkeypatch.setitem(__import__("sys").modules, "torch", torch_of(log))
    monkeypatch.setattr(resident, "resident_bytes", lambda field: log.append(field) or shown[field])
    monkeypatch.setattr(resident, "reset_peak", lambda: log.append("reset"))
    assert resident.measure("pageable", 64, "cuda") == {"peak_bytes": 4000}
    assert log == [
        ("ones", 1 << 12, "uint8"),
        ("to", "cuda"),
        ("ones", 1 << 20, "uint8"),
        "VmRSS",
        "reset",
        ("ones", 64, "uint8"),
        "VmHWM",
    ]


def test_a_tensor_that_lost_its_values_is_an_error(monkeypatch):
    torch = torch_of([])
    monkeypatch.setitem(__import__("sys").modules, "torch", torch)
    monkeypatch.setattr(resident, "reset_peak", lambda: None)
    monkeypatch.setattr(Tensor, "__getitem__", lambda self, index: 2)
    with pytest.raises(RuntimeError, match="^the tensor lost its values$"):
        resident.measure("pageable", 64, "cuda")


def test_the_process_prints_what_it_measured(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(resident, "measure", lambda *given: asked.append(given) or {"peak_bytes": 7})
    monkeypatch.setattr(resident.sys, "argv", ["resident", "pageable", "4096", "cuda:1"])
    assert resident.main() == 0
    assert json.loads(capsys.readouterr().out) == {"peak_bytes": 7}
    assert asked == [("pageable", 4096, "cuda:1")]
    monkeypatch.setattr(resident.sys, "argv", ["resident", "by magic", "4096", "cuda:1"])
    assert resident.main() == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"unknown mode 'by magic'; one of {', '.join(resident.MODES)}\n"
