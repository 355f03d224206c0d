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
from attaching import SERVER, end, recording, report, until, waits

pytestmark = pytest.mark.alone

# Loads the fake CUDA, says so, and waits in one system call: it fails by code 3 if the call ends otherwise than it
# would have without us.
WAITING = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec + at.tv_nsec / 1e9;
}
static sem_t done;
static void* wait_for_input(void* ignored) {
  char byte;
  if (read(0, &byte, 1) != 1) _exit(3);
  sem_post(&done);
  return NULL;
}

int main(int argc, char** argv) {
  const char* how = argv[1];
  char byte = 0;
  double registers = argc + 0.25, start = now();
  if (dlopen("libcudart.so.13", RTLD_NOW) == NULL) return 4;
  puts("ready");
  fflush(stdout);
  errno = 77;
  if (!strcmp(how, "read") && read(0, &byte, 1) != 1) return 3;
  if (!strcmp(how, "poll")) {
    struct pollfd input = {0, POLLIN, 0};
    if (poll(&input, 1, -1) != 1) return 3;
  }
  if (!strcmp(how, "ppoll")) {
    struct pollfd input = {0, POLLIN, 0};
    sigset_t none;
    sigemptyset(&none);
    if (ppoll(&input, 1, NULL, &none) != 1) return 3;
  }
  if (!strcmp(how, "select")) {
    fd_set inputs;
    FD_ZERO(&inputs);
    FD_SET(0, &inputs);
    if (select(1, &inputs, NULL, NULL, NULL) != 1) return 3;
  }
  if (!strcmp(how, "epoll")) {
    struct epoll_event event = {EPOLLIN, {0}};
    int file = epoll_create1(0);
    epoll_ctl(file, EPOLL_CTL_ADD, 0, &event);
    if (epoll_wait(file, &event, 1, -1) != 1) return 3;
  }
  if (!strcmp(how, "recv")) {  /* with a limit of time: fails by EINTR after any stop */
    int ends[2];
    struct timeval limit = {60, 0};
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (fork() == 0) {
      if (read(0, &byte, 1) == 1 && write(ends[1], "x", 1) == 1) _exit(0);
      _exit(1);
    }
    if (recv(ends[0], &byte, 1, 0) != 1) return 3;
  }
  if (!strcmp(how, "sleep")) {
    struct timespec two = {2, 0};
    if (nanosleep(&two, NULL) != 0 || now() - start < 2 || now() - start > 6) return 3;
  }
  if (!strcmp(how, "condition")) {
    pthread_t thread;
    sem_init(&done, 0, 0);
    pthread_create(&thread, NULL, wait_for_input, NULL);
    if (sem_wait(&done) != 0) return 3;
  }
  if (!strcmp(how, "signal")) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (sigwaitinfo(&set, NULL) != SIGUSR1) return 3;
  }
  if (!strcmp(how, "child")) {
    int status = 0;
    if (fork() == 0) _exit(read(0, &byte, 1) == 1 ? 6 : 1);
    if (wait(&status) < 0 || WEXITSTATUS(status) != 6) return 3;
  }
  if (!strcmp(how, "allocate") || !strcmp(how, "compute")) {  /* never waits */
    volatile double sum = 0;
    for (long i = 0; now() - start < 4; ++i) {
      if (how[0] == 'a') free(memset(malloc(1 + i % 300000), 1, 1));
      for (int k = 0; k < 1000; ++k) sum += k * registers;
      if (i % 100 == 0) getppid(), getpid();
    }
  }
  if (errno != 77 && strcmp(how, "signal")) return 5;
  if (registers != argc + 0.25) return 6;
  puts("served");
  return 0;
}
"""

# Calls the fake CUDA in C from several threads, each on a stream of its own that is older than the recording.
THREADS = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int (*create)(void**);
static int (*allocate)(void**, size_t);
static int (*copy)(void*, const void*, size_t, int, void*);
static volatile int is_over = 0;

static void* work(void* number) {
  size_t bytes = 1000 + (size_t)number;
  void *stream, *device;
  if (create(&stream) || allocate(&device, 4096)) _exit(4);
  while (!is_over) {
    char* host = malloc(4096);
    if (copy(device, host, bytes, 1, stream)) _exit(5);
    free(host);
    usleep(500);
  }
  return NULL;
}

int main(void) {
  void* cuda = dlopen("libcudart.so.13", RTLD_NOW);
  pthread_t threads[8];
  if (cuda == NULL) return 3;
  create = (int (*)(void**))dlsym(cuda, "cudaStreamCreate");
  allocate = (int (*)(void**, size_t))dlsym(cuda, "cudaMalloc");
  copy = (int (*)(void*, const void*, size_t, int, void*))dlsym(cuda, "cudaMemcpyAsync");
  for (size_t i = 0; i < 8; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  puts("ready");
  fflush(stdout);
  getchar();
  is_over = 1;
  for (int i = 0; i < 8; ++i) pthread_join(threads[i], NULL);
  puts("served");
  return 5;
}
"""


@pytest.fixture
def plain(record, record_library, fake_libraries):
    """Starts programs that know nothing of Turnpike; kills those that are left."""
    record.environment = {
        **record.environment,
        "TURNPIKE_RECORD_LIBRARY": str(record_library),
        "LD_LIBRARY_PATH": str(fake_libraries),
        "TURNPIKE_CUPTI": str(fake_libraries / "libfakecupti.so"),
    }
    started = []

    def start(*command, environment=None, **more):
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        process = subprocess.Popen(
            [str(word) for word in command], env={**record.environment, **(environment or {})}, cwd=record.directory,
            **pipes, **more,
        )  # fmt: skip
        started.append(process)
        assert process.stdout.readline() == b"ready\n", process.stderr.read()
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def built(tmp_path):
    """Compiles a program in C."""

    def build(source, *flags):
        path = tmp_path / "program"
        path.with_suffix(".c").write_text(source)
        words = ["cc", "-O1", "-o", path, path.with_suffix(".c"), "-pthread", *flags]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return path

    return build


def threads_of(process):
    folder = pathlib.Path(f"/proc/{process.pid}/task")
    return sorted((task / "comm").read_text().strip() for task in folder.iterdir())


def test_a_loop_in_python_is_recorded_and_goes_on(plain, attach, record):
    server = plain(sys.executable, "-c", SERVER)
    before = threads_of(server)
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
    assert end(server) == (5, b"served\n", b"")


def test_what_cannot_be_heard_is_a_named_loss(plain, attach, record):
    server = plain(sys.executable, "-c", SERVER)
    assert attach(server.pid, "--duration", "0.3", "-o", "run.tpk").returncode == 0
    assert report(record, "run.tpk")["losses"] == {"nvtx_not_heard": 1}


def test_the_second_time_it_waits_as_a_dormant_one(plain, attach, record):
    server = plain(sys.executable, "-c", SERVER)
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


def test_streams_that_were_made_before_are_told_apart(plain, attach, record, built):
    server = plain(built(THREADS, "-ldl"))
    time.sleep(0.2)
    result = attach(server.pid, "--duration", "0.5", "-o", "run.tpk")
    assert result.returncode == 0, result.stderr
    dumped = subprocess.run(
        [str(record.turnpike), "dump", *map(str, recording(record))], capture_output=True, text=True, timeout=60
    )
    streams = {}
    for stream, size in re.findall(r"^memcpy .* stream=(\d+) .* bytes=(\d+) ", dumped.stdout, re.M):
        streams.setdefault(size, set()).add(stream)
    assert sorted(streams) == [str(1000 + number) for number in range(8)]
    assert all(len(found) == 1 for found in streams.values())
    assert len({next(iter(found)) for found in streams.values()}) == 8
    server.stdin.write(b"\n")
    assert end(server) == (5, b"served\n", b"")


@pytest.mark.parametrize(
    "how",
    [
        "read",
        "poll",
        "ppoll",
        "select",
        "epoll",
        "recv",
        "sleep",
        "condition",
        "signal",
        "child",
        "allocate",
        "compute",
    ],
)
def test_a_program_in_c_does_as_without(plain, attach, record, built, how):
    process = plain(built(WAITING, "-ldl"), how)
    time.sleep(0.2)
    for number in range(2):
        result = attach(process.pid, "--duration", "0.1", "-o", f"{number}.tpk")
        assert result.returncode == 0, result.stderr
    if how == "signal":
        process.send_signal(signal.SIGUSR1)
    out, err = process.communicate(b"x", timeout=30)
    assert (process.returncode, out, err) == (0, b"served\n", b"")
    assert record.runs() == ["0.tpk", "1.tpk"]


def test_ctrl_c_while_it_is_loaded_does_no_harm(plain, attach):
    for number in range(8):
        server = plain(sys.executable, "-c", SERVER)
        attached = attach.start(server.pid, "--duration", "60", "-o", f"{number}.tpk")
        time.sleep(0.01 * number)
        attached.send_signal(signal.SIGINT)
        attached.communicate(timeout=30)
        time.sleep(0.1)
        assert end(server) == (5, b"served\n", b""), number


def test_a_program_that_exits_meanwhile_does_not_hang(plain, attach):
    for number in range(8):
        server = plain(sys.executable, "-c", SERVER)
        attached = attach.start(server.pid, "--duration", "60", "-o", f"{number}.tpk")
        time.sleep(0.01 * number)
        assert end(server) == (5, b"served\n", b"")
        attached.communicate(timeout=30)
        assert attached.returncode in (0, 3)


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


def test_a_static_binary_is_refused(plain, attach, record, built):
    source = '#include <stdio.h>\nint main(void) { puts("ready"); fflush(stdout); return getchar(); }'
    process = plain(built(source, "-static"))
    refused(attach, record, process, "is a static binary")


def test_musl_is_refused(plain, attach, record, tmp_path):
    (tmp_path / "ld-musl-x86_64.so.1").write_bytes(bytes(4096))
    code = (
        f"import mmap, sys; file = open('{tmp_path}/ld-musl-x86_64.so.1', 'rb'); "
        "mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ); print('ready', flush=True); sys.stdin.read()"
    )
    refused(attach, record, plain(sys.executable, "-c", code), "uses the C library musl")


def test_one_that_is_stopped_is_refused(plain, attach, record):
    server = plain(sys.executable, "-c", SERVER)
    server.send_signal(signal.SIGSTOP)
    until(lambda: "\nState:\tT" in pathlib.Path(f"/proc/{server.pid}/status").read_text())
    refused(attach, record, server, "is stopped (Ctrl-Z, a debugger)")
    server.send_signal(signal.SIGCONT)
    assert end(server) == (5, b"served\n", b"")


def test_one_that_a_debugger_holds_is_refused(plain, attach, record):
    server = plain(sys.executable, "-c", SERVER)
    seize, detach = 0x4206, 17
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    assert ptrace(seize, server.pid, None, None) == 0
    refused(attach, record, server, f"is held by a debugger, process {os.getpid()}")
    os.kill(server.pid, signal.SIGSTOP)
    os.waitpid(server.pid, os.WUNTRACED)
    ptrace(detach, server.pid, None, None)
    server.send_signal(signal.SIGCONT)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")
def test_one_with_other_files_is_refused(plain, attach, record, tmp_path):
    jail = tmp_path / "jail"
    jail.mkdir()
    server = plain(sys.executable, "-c", SERVER.replace('print("ready"', f'os.chroot("{jail}"); print("ready"'))
    refused(attach, record, server, "sees other files than you do (a container)")
    assert end(server) == (5, b"served\n", b"")


def forbid_ptrace():
    """As the filter of a container does: ptrace fails by EPERM."""
    load, equal, give = 0x20, 0x15, 0x06
    steps = [(load, 0, 0, 0), (equal, 0, 1, 101), (give, 0, 0, 0x00050001), (give, 0, 0, 0x7FFF0000)]
    program = b"".join(struct.pack("HBBI", *step) for step in steps)
    buffer = ctypes.create_string_buffer(program, len(program))
    given = struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(buffer))
    prctl = ctypes.CDLL(None).prctl
    assert prctl(38, 1, 0, 0, 0) == 0
    assert prctl(22, 2, ctypes.c_char_p(given), 0, 0) == 0


def test_where_the_kernel_forbids_it_the_reason_is_given(plain, attach, record):
    server = plain(sys.executable, "-c", SERVER)
    attached = attach.start(server.pid, preexec_fn=forbid_ptrace)
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
    """The machine seems to have Yama with this scope, and ptrace fails as it makes it fail."""

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
        forbid_ptrace()

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
def test_root_whom_yama_lets_in_is_told_of_the_container(plain, attach, record, scope, said):
    server = plain(sys.executable, "-c", SERVER)
    attached = attach.start(server.pid, preexec_fn=yama(scope))
    _, err = attached.communicate(timeout=30)
    assert attached.returncode == 3
    assert said in err and "sudo" not in err
    assert "`turnpike record --dormant -- COMMAND`" in err
    assert end(server) == (5, b"served\n", b"")


NOBODY = 65534


@needs_own_mounts
@pytest.mark.parametrize("scope", [1, 2])
def test_a_user_whom_yama_keeps_out_is_told_what_to_do(plain, attach, record, scope):
    become = f"os.setgid({NOBODY}); os.setuid({NOBODY}); ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)"  # may be looked at
    server = plain(sys.executable, "-c", SERVER.replace('print("ready"', f'import ctypes; {become}; print("ready"'))
    attached = attach.start(server.pid, preexec_fn=yama(scope, NOBODY))
    _, err = attached.communicate(timeout=30)
    assert attached.returncode == 3
    assert f"/proc/sys/kernel/yama/ptrace_scope is {scope}. Attach as root (sudo turnpike attach {server.pid})" in err
    assert "sudo sysctl kernel.yama.ptrace_scope=0" in err
    assert "`turnpike record --dormant -- COMMAND`" in err
    assert end(server) == (5, b"served\n", b"")


def test_a_profiler_that_holds_cupti_is_named(plain, attach, record):
    server = plain(sys.executable, "-c", SERVER, environment={"FAKE_CUPTI_FAIL": "cuptiSubscribe:39"})
    refused(attach, record, server, f"process {server.pid}: ", "profiler")
    assert end(server) == (5, b"served\n", b"")


# A program that embeds Python: it maps a file of that name, and whoever starts it once more leaves a file behind.
EMBEDDING = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int file = open("libpython3.14.so.1.0", O_RDWR | O_CREAT, 0644);
  if (argc > 1) return open("started-again", O_RDWR | O_CREAT, 0644) < 0;
  if (ftruncate(file, 4096) || mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0) == MAP_FAILED) return 3;
  if (dlopen("libcudart.so.13", RTLD_NOW) == NULL) return 4;
  puts("ready");
  fflush(stdout);
  getchar();
  puts("served");
  return 5;
}
"""


def test_a_program_that_embeds_python_is_not_started_again(plain, attach, record, built):
    server = plain(built(EMBEDDING, "-ldl"))
    result = attach(server.pid, "--duration", "0.1", "-o", "run.tpk")
    assert result.returncode == 0, result.stderr
    assert not (record.directory / "started-again").exists()
    assert end(server) == (5, b"served\n", b"")


def python_3_14():
    found = shutil.which("python3.14")
    runs = found and subprocess.run([found, "-c", "import ctypes"], capture_output=True).returncode == 0
    return found if runs else None


needs_python_3_14 = pytest.mark.skipif(python_3_14() is None, reason="python3.14 is not installed")

# Its main thread runs Python all the time, where SERVER's waits for input.
BUSY = SERVER.replace("import ctypes", "import ctypes, select").replace(
    "    for line in sys.stdin:\n        exec(line)", "    while not select.select([0], [], [], 0)[0]: pass"
)


@needs_python_3_14
def test_python_that_can_be_asked_is_asked(plain, attach, record):
    server = plain(python_3_14(), "-c", BUSY)
    attached = attach.start(server.pid, "--duration", "0.5", "-o", "run.tpk", preexec_fn=forbid_ptrace)
    _, err = attached.communicate(timeout=30)
    assert attached.returncode == 0, err
    read = report(record, "run.tpk")
    assert read["losses"] == {"nvtx_not_heard": 1}
    assert {site["line"] for site in read["sites"] if site["direction"] == "h2d"} == {12}
    assert attach(server.pid, "--duration", "0.1", "-o", "again.tpk").returncode == 0
    assert end(server) == (5, b"served\n", b"")


@needs_python_3_14
def test_python_whose_main_thread_waits_is_loaded_into_and_asked_no_more(plain, attach, record):
    server = plain(python_3_14(), "-c", SERVER)
    result = attach(server.pid, "--duration", "0.5", "-o", "run.tpk")
    assert (result.returncode, "forbids" in result.stderr) == (0, False), result.stderr
    assert {site["line"] for site in report(record, "run.tpk")["sites"] if site["direction"] == "h2d"} == {12}
    # Its main thread runs Python again, and has nothing left to do for us that it could fail in.
    server.stdin.write(b"time.sleep(0.01)\n" * 100)
    assert end(server) == (5, b"served\n", b"")


DISABLED = {
    "the variable": ([], {"PYTHON_DISABLE_REMOTE_DEBUG": "1"}),
    "the option": (["-X", "disable-remote-debug"], {}),
}


@needs_python_3_14
@pytest.mark.parametrize("how", DISABLED)
def test_python_that_forbids_it_is_loaded_into_and_the_user_told(plain, attach, record, how):
    options, environment = DISABLED[how]
    server = plain(python_3_14(), *options, "-c", BUSY, environment=environment)
    start = time.monotonic()
    result = attach(server.pid, "--duration", "0.1", "-o", "run.tpk")
    assert result.returncode == 0, result.stderr
    assert f"process {server.pid}: its Python forbids remote debugging" in result.stderr
    assert "PYTHON_DISABLE_REMOTE_DEBUG" in result.stderr and "ptrace" in result.stderr
    assert time.monotonic() - start < 5
    assert end(server) == (5, b"served\n", b"")


@needs_python_3_14
def test_python_that_forbids_it_where_the_kernel_does_too_is_refused(plain, attach, record):
    server = plain(python_3_14(), "-c", BUSY, environment={"PYTHON_DISABLE_REMOTE_DEBUG": "1"})
    attached = attach.start(server.pid, preexec_fn=forbid_ptrace)
    _, err = attached.communicate(timeout=30)
    assert attached.returncode == 3
    assert "the kernel does not let you into it" in err
    assert "its Python forbids remote debugging" in err
    assert "`turnpike record --dormant -- COMMAND`" in err
    assert record.runs() == []
    assert end(server) == (5, b"served\n", b"")


# What the program's Python lacks must not be said in the program's own output.
@needs_python_3_14
def test_python_without_ctypes_says_nothing(plain, attach, record):
    hidden = BUSY.replace('print("ready"', 'sys.modules["ctypes"] = None; print("ready"')
    server = plain(python_3_14(), "-c", hidden)
    result = attach(server.pid, "--duration", "0.1", "-o", "run.tpk")
    assert result.returncode == 0, result.stderr
    assert end(server) == (5, b"served\n", b"")


@needs_python_3_14
@needs_own_mounts
def test_python_that_sees_another_tmp_says_nothing(plain, attach, record):
    """As a service of systemd with PrivateTmp: a script in /tmp is not there for it."""
    own = """
        libc = ctypes.CDLL(None)
        assert libc.unshare(0x20000) == 0 and libc.mount(b"none", b"/", None, 0x44000, None) == 0
        assert libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0
    """
    server = plain(python_3_14(), "-c", BUSY.replace("cuda = ", textwrap.dedent(own) + "cuda = ", 1))
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        result = attach(server.pid, "--duration", "0.1", "-o", pathlib.Path(folder) / "run.tpk")
    assert result.returncode == 0, result.stderr
    assert end(server) == (5, b"served\n", b"")
