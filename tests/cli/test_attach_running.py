"""`turnpike attach` to programs that were not started dormant: the real recorder on fake CUDA."""

import ctypes
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import textwrap
import time

import pytest
from attaching import ASKED, SERVER, end, recording, report, starting_programs, until, waits

pytestmark = pytest.mark.alone

# Calls the fake CUDA in C from several threads, each on a stream of its own that is older than the recording.
THREADS = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int (*create)(void**);
static int (*allocate)(void**, size_t);
static int (*copy)(void*, const void*, size_t, int, void*);

static void* work(void* number) {
  size_t bytes = 1000 + (size_t)number;
  void *stream, *device;
  if (create(&stream) || allocate(&device, 4096)) _exit(4);
  while (1) {
    char* host = malloc(4096);
    if (copy(device, host, bytes, 1, stream)) _exit(5);
    free(host);
    usleep(500);
  }
  return NULL;
}

void start_threads(void) {
  void* cuda = dlopen("libcudart.so.13", RTLD_NOW);
  pthread_t thread;
  create = (int (*)(void**))dlsym(cuda, "cudaStreamCreate");
  allocate = (int (*)(void**, size_t))dlsym(cuda, "cudaMalloc");
  copy = (int (*)(void*, const void*, size_t, int, void*))dlsym(cuda, "cudaMemcpyAsync");
  for (size_t i = 0; i < 8; ++i) pthread_create(&thread, NULL, work, (void*)i);
}
"""

# Holds the dynamic loader's lock for as long as there is no file `go-on`: in the constructor of a library.
HOLDER = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef SLOW
__attribute__((constructor)) static void begin(void) {
  while (access("go-on", F_OK) != 0) usleep(1000);
}
#else
static void* load(void* path) { return dlopen(path, RTLD_NOW); }
void hold_the_loader(char* path) {
  pthread_t thread;
  pthread_create(&thread, NULL, load, path);
}
#endif
"""


@pytest.fixture
def plain(record, record_library, fake_libraries, python_3_14_library):
    """Starts programs that know nothing of Turnpike; kills those that are left."""
    record.environment = {
        **record.environment,
        "TURNPIKE_RECORD_LIBRARY": str(record_library),
        "LD_LIBRARY_PATH": f"{fake_libraries}:{python_3_14_library.parent}:{record.directory}",
        "TURNPIKE_CUPTI": str(fake_libraries / "libfakecupti.so"),
    }
    with starting_programs(record.directory) as started:
        yield lambda *command, environment=None, **more: started(
            command, {**record.environment, **(environment or {})}, **more
        )


@pytest.fixture
def asked(plain):
    """Starts a program whose Python can be asked. `before`: what it does before it says that it is ready."""

    def start(before="", **more):
        return plain(sys.executable, "-c", ASKED.replace('print("ready"', f'{before}\nprint("ready"'), **more)

    return start


@pytest.fixture
def library(record):
    """Compiles a library in C, into the folder that the programs run in."""

    def build(name, source, *flags):
        (record.directory / f"{name}.c").write_text(source)
        words = ["cc", "-O1", "-shared", "-fPIC", "-o", f"{name}.so", f"{name}.c", "-pthread", "-ldl", *flags]
        done = subprocess.run(words, cwd=record.directory, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return record.directory / f"{name}.so"

    return build


def tell(server, line):
    """Has the program run a line of Python. Returns what it prints, a line."""
    server.stdin.write(line.encode() + b"\n")
    server.stdin.flush()
    return server.stdout.readline().decode().strip()


def threads_of(process):
    folder = pathlib.Path(f"/proc/{process.pid}/task")
    return sorted((task / "comm").read_text().strip() for task in folder.iterdir())


def scripts():
    return set(pathlib.Path("/tmp").glob("turnpike-attach-*"))


def test_a_loop_in_python_is_recorded_and_goes_on(asked, attach, record):
    server = asked()
    before, left = threads_of(server), scripts()
    result = attach(server.pid, "--duration", "0.6", "-o", "run.tpk")
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
    assert "turnpike: recorded 1 process into run.tpk (" in result.stderr
    read = report(record, "run.tpk")
    said = int(re.search(r"host to device +(\d+) ", result.stderr)[1])
    assert said == read["totals"]["h2d"]["count"]
    assert 20 < said < 400
    assert any(site["direction"] == "h2d" and site["line"] == 12 for site in read["sites"]), read["sites"]
    assert waits(server.pid)
    until(lambda: len(threads_of(server)) <= len(before) + 2)
    assert scripts() == left
    assert end(server) == (5, b"served\n", b"")


def test_what_cannot_be_heard_is_a_named_loss(asked, attach, record):
    server = asked()
    assert attach(server.pid, "--duration", "0.3", "-o", "run.tpk").returncode == 0
    assert report(record, "run.tpk")["losses"] == {"nvtx_not_heard": 1}


def test_the_second_time_it_waits_as_a_dormant_one(asked, attach, record):
    server = asked()
    held = []
    for number in range(3):
        result = attach(server.pid, "--duration", "0.1", "-o", f"{number}.tpk")
        assert result.returncode == 0, result.stderr
        until(lambda: "turnpike" not in threads_of(server))
        held.append(threads_of(server))
    assert held[0] == held[1] == held[2]
    assert attach("--all", "--duration", "0.1", "-o", "all.tpk").returncode == 0
    assert len(record.runs()) == 4
    assert end(server) == (5, b"served\n", b"")


def test_streams_that_were_made_before_are_told_apart(asked, attach, record, library):
    server = asked(f'ctypes.CDLL("{library("threads", THREADS)}").start_threads()\ntime.sleep(0.2)')
    result = attach(server.pid, "--duration", "0.5", "-o", "run.tpk")
    assert result.returncode == 0, result.stderr
    dumped = subprocess.run(
        [str(record.turnpike), "dump", *map(str, recording(record))], capture_output=True, text=True, timeout=60
    )
    streams = {}
    for stream, size in re.findall(r"^memcpy .* stream=(\d+) .* bytes=(\d+) ", dumped.stdout, re.M):
        streams.setdefault(size, set()).add(stream)
    sizes = [str(1000 + number) for number in range(8)]
    assert set(sizes) <= set(streams)
    assert all(len(streams[size]) == 1 for size in sizes)
    assert len({next(iter(streams[size])) for size in sizes}) == 8
    tell(server, "os._exit(5)")
    assert server.wait(timeout=20) == 5


def test_ctrl_c_while_it_is_loaded_does_no_harm(asked, attach):
    for number in range(6):
        server = asked()
        attached = attach.start(server.pid, "--duration", "60", "-o", f"{number}.tpk")
        time.sleep(0.01 * number)
        attached.send_signal(signal.SIGINT)
        attached.communicate(timeout=30)
        assert tell(server, "time.sleep(0.1); print('goes on', flush=True)") == "goes on"
        assert end(server) == (5, b"served\n", b""), number


def test_ctrl_c_takes_the_request_back(asked, attach):
    """At once, and nothing of it is left: neither the script nor anything that the program would do later."""
    server = asked("really_look, safe_moment = safe_moment, lambda: time.sleep(0.01)")
    left = scripts()
    attached = attach.start(server.pid)
    until(lambda: scripts() - left)
    attached.send_signal(signal.SIGINT)
    start = time.monotonic()
    attached.communicate(timeout=30)
    assert (attached.returncode, scripts()) == (-signal.SIGINT, left)
    assert time.monotonic() - start < 3
    assert tell(server, "safe_moment = really_look; time.sleep(0.2); print('goes on', flush=True)") == "goes on"
    assert not waits(server.pid)
    assert end(server) == (5, b"served\n", b"")


def test_attach_that_is_killed_at_any_moment_does_no_harm(asked, attach):
    """SIGKILL leaves nothing behind that the program would need us for. At most it loads the recorder later."""
    left = scripts()
    for number in range(16):
        server = asked()
        attached = attach.start(server.pid, "--duration", "60", "-o", f"{number}.tpk")
        time.sleep(0.004 * number)
        attached.kill()
        attached.communicate(timeout=30)
        assert tell(server, "time.sleep(0.1); print('goes on', flush=True)") == "goes on"
        assert end(server) == (5, b"served\n", b""), number
    for script in scripts() - left:
        script.unlink()


def test_a_program_that_exits_meanwhile_does_not_hang(asked, attach):
    for number in range(8):
        server = asked()
        attached = attach.start(server.pid, "--duration", "60", "-o", f"{number}.tpk")
        time.sleep(0.01 * number)
        assert end(server) == (5, b"served\n", b"")
        attached.communicate(timeout=30)
        assert attached.returncode in (0, 3)


def test_a_program_whose_loader_is_held_for_long_goes_on(asked, attach, record, library):
    """No thread of the program waits for the loader because of us, and attach gives up in time."""
    slow = library("slow", HOLDER, "-DSLOW")
    holder = library("holder", HOLDER)
    server = asked(
        f'slow = ctypes.create_string_buffer(b"{slow}")\nctypes.CDLL("{holder}").hold_the_loader(slow)\ntime.sleep(0.2)'
    )
    attached = attach.start(server.pid, "-o", "run.tpk")
    for _ in range(10):
        assert tell(server, "time.sleep(0.1); print('goes on', flush=True)") == "goes on"
    _, err = attached.communicate(timeout=30)
    assert attached.returncode == 3
    assert "another thread keeps the dynamic loader busy" in err
    assert tell(server, "print('goes on', flush=True)") == "goes on"
    (record.directory / "go-on").touch()
    until(lambda: waits(server.pid))
    assert attach(server.pid, "--duration", "0.2", "-o", "run.tpk").returncode == 0
    assert end(server) == (5, b"served\n", b"")


def test_attach_that_is_killed_while_the_loader_is_held_does_no_harm(asked, attach, record, library):
    slow = library("slow", HOLDER, "-DSLOW")
    holder = library("holder", HOLDER)
    server = asked(
        f'slow = ctypes.create_string_buffer(b"{slow}")\nctypes.CDLL("{holder}").hold_the_loader(slow)\ntime.sleep(0.2)'
    )
    left = scripts()
    attached = attach.start(server.pid, "-o", "run.tpk")
    time.sleep(0.5)
    attached.kill()
    attached.communicate()
    assert tell(server, "print('goes on', flush=True)") == "goes on"
    (record.directory / "go-on").touch()
    assert tell(server, "time.sleep(0.5); print('goes on', flush=True)") == "goes on"
    assert end(server) == (5, b"served\n", b"")
    for script in scripts() - left:
        script.unlink()


# A thread keeps the version of what sys.monitoring wants in the same word.
def test_only_the_bits_of_a_request_are_changed(asked, attach):
    server = asked("python.fake_python_bits.restype = ctypes.c_uint64")
    tell(server, "python.fake_python_set_bits(ctypes.c_uint64(0x123456789ABCDE00)); print('set', flush=True)")
    assert attach(server.pid, "--duration", "0.1", "-o", "run.tpk").returncode == 0
    assert tell(server, "print(hex(python.fake_python_bits()), flush=True)") == "0x123456789abcde00"


# A thread that is told in vain to drop the GIL would wait for another to take it.
def test_a_request_to_drop_the_gil_is_never_written_back(asked, attach):
    server = asked("python.fake_python_bits.restype = ctypes.c_uint64")
    tell(server, "python.fake_python_set_bits(ctypes.c_uint64(1)); print('set', flush=True)")
    result = attach(server.pid)
    assert result.returncode == 3 and "has run no Python for 5 s" in result.stderr
    assert tell(server, "print(python.fake_python_bits(), flush=True)") == "1"
    assert end(server) == (5, b"served\n", b"")


@pytest.mark.parametrize(
    ("word", "value", "said"),
    [
        (0, 1, "its runtime is not found"),
        (1, 0x031000F0, "does not know its version"),
        (1, 0x030E00A7, "does not know its version"),
        (2, 1, "it is a free-threaded one"),
        (90, 1 << 40, "its table of fields is not the one of its version"),
        (94, 4096, "its table of fields is not the one of its version"),
        (10, 0, "its main thread is not the one that Python started on"),
        (5, 8, "its runtime is not found|it is starting or ending|its main thread is not the one"),
    ],
)
def test_a_python_that_is_not_known_is_left_alone(asked, attach, record, word, value, said):
    server = asked(f"python.fake_python_set_word({word}, ctypes.c_uint64({value}))")
    result = attach(server.pid)
    assert result.returncode == 3
    assert re.search(said, result.stderr), result.stderr
    assert record.runs() == []
    assert end(server) == (5, b"served\n", b"")


def test_python_whose_main_thread_waits_is_asked_no_more(asked, attach, record):
    server = asked("really_look, safe_moment = safe_moment, lambda: time.sleep(0.01)")
    result = attach(server.pid)
    assert result.returncode == 3
    assert "its main thread has run no Python for 5 s: it waits, or is in a long call" in result.stderr
    assert "`turnpike record --dormant -- COMMAND`" in result.stderr
    # It runs Python again, and has nothing left to do for us that it could fail in.
    assert tell(server, "safe_moment = really_look; time.sleep(0.2); print('goes on', flush=True)") == "goes on"
    assert not waits(server.pid)
    assert record.runs() == []
    assert end(server) == (5, b"served\n", b"")


def test_python_that_forbids_it_is_refused(asked, attach, record):
    server = asked("python.fake_python_forbid()")
    refused(attach, record, server, "its Python forbids remote debugging (PYTHON_DISABLE_REMOTE_DEBUG)")
    assert end(server) == (5, b"served\n", b"")


# What the program's Python lacks must not be said in the program's own output. An import would run its hooks.
def test_python_without_ctypes_says_nothing(asked, attach, record):
    server = asked('sys.modules.pop("ctypes")')
    refused(attach, record, server, "the program has not imported ctypes")
    assert end(server) == (5, b"served\n", b"")


def refused(attach, record, process, *said):
    """Attaches in vain. The program must run on."""
    result = attach(process.pid)
    assert (result.returncode, result.stdout) == (3, "")
    for words in said:
        assert words in result.stderr
    assert record.runs() == []
    assert process.poll() is None


def test_a_program_without_cuda_is_refused(plain, attach, record):
    process = plain("sh", "-c", "echo ready; read line")
    refused(attach, record, process, f"process {process.pid} was not started to be attached to",
            "does not use CUDA", "attach to its children")  # fmt: skip


def test_a_program_that_has_loaded_the_runtime_and_no_driver_is_refused_as_one_without_cuda(
    plain, attach, record, library
):
    """As PyTorch on a machine without a GPU, in whatever Python."""
    runtime = library("unused", "int unused;").rename(record.directory / "libcudart.so.12")
    process = plain(
        sys.executable, "-c", f"import ctypes; ctypes.CDLL('{runtime}'); print('ready', flush=True); input()"
    )
    refused(attach, record, process, "does not use CUDA: it has loaded no libcuda.so")


def test_an_older_python_is_refused(plain, attach, record):
    server = plain(sys.executable, "-c", SERVER)
    refused(attach, record, server, "only CPython 3.14 and later can be asked to load the recorder while it runs",
            "`turnpike record --dormant -- COMMAND`")  # fmt: skip
    assert end(server) == (5, b"served\n", b"")


def test_one_that_is_stopped_is_refused(plain, attach, record):
    server = plain(sys.executable, "-c", SERVER)
    server.send_signal(signal.SIGSTOP)
    until(lambda: "\nState:\tT" in pathlib.Path(f"/proc/{server.pid}/status").read_text())
    refused(attach, record, server, "is stopped (Ctrl-Z, a debugger)")
    server.send_signal(signal.SIGCONT)
    assert end(server) == (5, b"served\n", b"")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")
def test_one_with_other_files_is_refused(plain, attach, record, tmp_path):
    jail = tmp_path / "jail"
    jail.mkdir()
    server = plain(sys.executable, "-c", SERVER.replace('print("ready"', f'os.chroot("{jail}"); print("ready"'))
    refused(attach, record, server, "sees other files than you do (a container)")
    assert end(server) == (5, b"served\n", b"")


def forbid_memory():
    """As the kernel does where another process's memory may not be written: to open it for that fails by EPERM. It is
    the only file that the command opens so."""
    load, equal, give = 0x20, 0x15, 0x06
    open_to_write = os.O_RDWR | os.O_CLOEXEC
    steps = [
        (load, 0, 0, 0),
        (equal, 0, 3, 257),  # openat
        (load, 0, 0, 32),
        (equal, 0, 1, open_to_write),
        (give, 0, 0, 0x00050001),
        (give, 0, 0, 0x7FFF0000),
    ]
    program = b"".join(struct.pack("HBBI", *step) for step in steps)
    buffer = ctypes.create_string_buffer(program, len(program))
    given = struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(buffer))
    prctl = ctypes.CDLL(None).prctl
    assert prctl(38, 1, 0, 0, 0) == 0
    assert prctl(22, 2, ctypes.c_char_p(given), 0, 0) == 0


def test_where_the_kernel_forbids_it_the_reason_is_given(asked, attach, record):
    server = asked()
    attached = attach.start(server.pid, preexec_fn=forbid_memory)
    _, err = attached.communicate(timeout=30)
    assert attached.returncode == 3
    assert "the kernel does not let you into it" in err
    assert "ptrace_scope" in err or "--cap-add SYS_PTRACE" in err
    assert "`turnpike record --dormant -- COMMAND`" in err
    assert record.runs() == []
    assert end(server) == (5, b"served\n", b"")


needs_own_mounts = pytest.mark.skipif(
    subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0,
    reason="no mounts of its own: no scope of Yama can be shown to a program",
)


def yama(scope, as_user=None):
    """The machine seems to have Yama with this scope, and its memory is closed as it closes it."""

    def prepare():
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.unshare(0x20000) == 0, ctypes.get_errno()  # CLONE_NEWNS
        assert libc.mount(b"none", b"/", None, 0x44000, None) == 0  # MS_PRIVATE | MS_REC
        assert libc.mount(b"none", b"/proc/sys/kernel", b"tmpfs", 0, None) == 0
        os.mkdir("/proc/sys/kernel/yama")
        pathlib.Path("/proc/sys/kernel/yama/ptrace_scope").write_text(f"{scope}\n")
        if as_user is not None:
            os.setgid(as_user)
            os.setuid(as_user)
        forbid_memory()

    return prepare


@needs_own_mounts
@pytest.mark.parametrize(
    ("scope", "said"),
    [
        # Yama itself lets root in: what keeps it out is a container.
        (1, "--cap-add SYS_PTRACE"),
        (2, "--cap-add SYS_PTRACE"),
        (3, "ptrace_scope is 3, for everybody until the next boot"),
    ],
)
def test_root_whom_yama_lets_in_is_told_of_the_container(asked, attach, record, scope, said):
    server = asked()
    attached = attach.start(server.pid, preexec_fn=yama(scope))
    _, err = attached.communicate(timeout=30)
    assert attached.returncode == 3
    assert said in err and "sudo" not in err
    assert "`turnpike record --dormant -- COMMAND`" in err
    assert end(server) == (5, b"served\n", b"")


NOBODY = 65534


@needs_own_mounts
@pytest.mark.parametrize("scope", [1, 2])
def test_a_user_whom_yama_keeps_out_is_told_what_to_do(asked, attach, record, scope):
    become = f"os.setgid({NOBODY}); os.setuid({NOBODY}); ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)"  # may be looked at
    server = asked(become)
    attached = attach.start(server.pid, preexec_fn=yama(scope, NOBODY))
    _, err = attached.communicate(timeout=30)
    assert attached.returncode == 3
    assert f"/proc/sys/kernel/yama/ptrace_scope is {scope}. Attach as root (sudo turnpike attach {server.pid})" in err
    assert "sudo sysctl kernel.yama.ptrace_scope=0" in err
    assert "`turnpike record --dormant -- COMMAND`" in err
    assert end(server) == (5, b"served\n", b"")


def test_a_profiler_that_holds_cupti_is_named(asked, attach, record):
    server = asked(environment={"FAKE_CUPTI_FAIL": "cuptiSubscribe:39"})
    refused(attach, record, server, f"process {server.pid}: ", "profiler")
    assert end(server) == (5, b"served\n", b"")


def python(version):
    found = shutil.which(f"python{version}")
    runs = found and subprocess.run([found, "-c", "import ctypes"], capture_output=True).returncode == 0
    return found if runs else None


REAL = [
    pytest.param(version, marks=pytest.mark.skipif(python(version) is None, reason=f"python{version} is not installed"))
    for version in ("3.14", "3.15")
]

# Its main thread runs Python all the time, where SERVER's waits for input.
BUSY = SERVER.replace("import ctypes", "import ctypes, select").replace(
    "    for line in sys.stdin:\n        exec(line)", "    while not select.select([0], [], [], 0)[0]: pass"
)


@pytest.mark.parametrize("version", REAL)
def test_a_real_python_is_asked(plain, attach, record, version):
    server = plain(python(version), "-c", BUSY)
    result = attach(server.pid, "--duration", "0.5", "-o", "run.tpk")
    assert result.returncode == 0, result.stderr
    read = report(record, "run.tpk")
    assert read["losses"] == {"nvtx_not_heard": 1}
    assert {site["line"] for site in read["sites"] if site["direction"] == "h2d"} == {12}
    assert attach(server.pid, "--duration", "0.1", "-o", "again.tpk").returncode == 0
    assert end(server) == (5, b"served\n", b"")


@pytest.mark.parametrize("version", REAL)
def test_a_real_python_whose_main_thread_waits_is_asked_no_more(plain, attach, record, version):
    server = plain(python(version), "-c", SERVER)
    refused(attach, record, server, "its main thread has run no Python for 5 s")
    server.stdin.write(b"time.sleep(0.01)\n" * 100)
    assert end(server) == (5, b"served\n", b"")


DISABLED = {
    "the variable": ([], {"PYTHON_DISABLE_REMOTE_DEBUG": "1"}),
    "the option": (["-X", "disable-remote-debug"], {}),
}


@pytest.mark.parametrize("version", REAL)
@pytest.mark.parametrize("how", DISABLED)
def test_a_real_python_that_forbids_it_is_refused(plain, attach, record, how, version):
    options, environment = DISABLED[how]
    server = plain(python(version), *options, "-c", BUSY, environment=environment)
    refused(attach, record, server, "its Python forbids remote debugging")
    assert end(server) == (5, b"served\n", b"")


@needs_own_mounts
def test_python_that_sees_another_tmp_is_asked(asked, attach, record):
    """As a service of systemd with PrivateTmp."""
    own = """
        libc = ctypes.CDLL(None)
        assert libc.unshare(0x20000) == 0 and libc.mount(b"none", b"/", None, 0x44000, None) == 0
        assert libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0
    """
    server = asked(textwrap.dedent(own))
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        result = attach(server.pid, "--duration", "0.1", "-o", pathlib.Path(folder) / "run.tpk")
    assert result.returncode == 0, result.stderr
    assert end(server) == (5, b"served\n", b"")
