"""pytest in a process of its own, with the plugin, beside the fake driver, runtime and CUPTI: limits without a GPU."""

import os
import pathlib
import textwrap

import pytest

import pytest_turnpike

# What a test calls: ctypes in the place of PyTorch.
GPU = """
import ctypes


class _OnDemand:
    def __getattr__(self, name):
        return getattr(ctypes.CDLL("libcudart.so.13"), name)


_cudart = _OnDemand()
_device = ctypes.c_void_p()
_host = (ctypes.c_char * 65536)()


def _memory():
    if not _device:
        assert _cudart.cudaMalloc(ctypes.byref(_device), ctypes.c_size_t(65536)) == 0
    return _device


def upload(size=1000):
    assert _cudart.cudaMemcpy(_memory(), _host, ctypes.c_size_t(size), 1) == 0


def download(size=4):
    assert _cudart.cudaMemcpy(_host, _memory(), ctypes.c_size_t(size), 2) == 0


def wait():
    assert _cudart.cudaDeviceSynchronize() == 0
"""


@pytest.fixture
def gpu_calls():
    return GPU


@pytest.fixture
def fakes():
    folder = os.environ.get("TURNPIKE_BUILD")
    if not folder:
        pytest.fail(
            "TURNPIKE_BUILD is not set: name the folder in which Turnpike was built, with its tests", pytrace=False
        )
    libraries = pathlib.Path(folder).resolve() / "tests" / "fake" / "lib"
    if not (libraries / "libfakecupti.so").exists():
        pytest.fail(f"{libraries} has no libfakecupti.so: build it first", pytrace=False)
    return libraries


class Pytest:
    """`pytest` on files that are written here. `gpu.py` has the calls."""

    def __init__(self, pytester):
        self.pytester = pytester
        pytester.makepyfile(gpu=GPU)

    def ini(self, *lines):
        self.pytester.makeini("[pytest]\n" + "\n".join(lines))

    def write(self, text, name="test_it"):
        head = "import pytest\nfrom gpu import download, upload, wait\n\n"
        self.pytester.makepyfile(**{name: head + textwrap.dedent(text)})

    def __call__(self, *arguments, beside=()):
        """Runs pytest with our plugin and those that are named."""
        plugins = [f"-p{name}" for name in ("pytest_turnpike", *beside, "no:cacheprovider")]
        return self.pytester.runpytest_subprocess(*plugins, *arguments)


@pytest.fixture
def plain(pytester, monkeypatch):
    """pytest on a machine without CUDA, and without what the tests' own environment says."""
    for name in [name for name in os.environ if name.startswith(("TURNPIKE_", "GITHUB_", "PYTEST_", "CUDA", "FAKE_"))]:
        if name not in ("TURNPIKE_BUILD", "PYTEST_CURRENT_TEST"):
            monkeypatch.delenv(name)
    for name in ("CI", "BUILD_NUMBER"):  # there pytest writes the whole message once more, in its summary
        monkeypatch.delenv(name, raising=False)
    # To import all plugins takes half of such a pytest's processor time. Tests name those that they need.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(pytest_turnpike.__file__).parents[1]))
    return Pytest(pytester)


@pytest.fixture
def run(plain, fakes, monkeypatch):
    """pytest on a machine with the fake GPU."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(fakes))
    monkeypatch.setenv("TURNPIKE_CUPTI", str(fakes / "libfakecupti.so"))
    return plain
