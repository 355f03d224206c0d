"""Who may attach to whose program, and with which rights: two users, of whom one is root."""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

import pytest
from attaching import ASKED, SERVER, end, files, starting_programs, until, waits

pytestmark = [pytest.mark.alone, pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")]

NOBODY = 65534

# A program of a hostile user: it looks like CPython 3.14 that uses CUDA, by its name and by two dummies. Whoever starts
# it once more leaves a file that tells with which rights.
HOSTILE = r"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const char* dummies[] = {"libcuda.so.1", "libpython3.14.so.1.0"};
  if (argc > 1) {
    char name[100];
    snprintf(name, sizeof name, "ran-as-%d", (int)geteuid());
    close(open(name, O_CREAT | O_WRONLY, 0644));
    return 9;
  }
  for (int i = 0; i < 2; ++i) {
    int file = open(dummies[i], O_RDWR | O_CREAT, 0755);
    if (ftruncate(file, 4096) || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED) return 3;
  }
  puts("ready");
  fflush(stdout);
  getchar();
  puts("served");
  return 5;
}
"""


@pytest.fixture
def folder():
    """A folder that belongs to the other user, where he can read all that a recorded program needs."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        os.chown(name, NOBODY, NOBODY)
        os.chmod(name, 0o755)
        yield pathlib.Path(name)


@pytest.fixture
def of_root():
    """A folder of root's, which others may look into."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        os.chmod(name, 0o755)
        yield pathlib.Path(name)


@pytest.fixture
def theirs(record, record_library, fake_libraries, python_3_14_library, folder):
    """Starts programs of the other user in `folder`; kills those that are left."""
    libraries = folder / "libraries"
    shutil.copytree(fake_libraries, libraries)
    shutil.copy(record_library, libraries)
    record.environment = {
        **record.environment,
        "TURNPIKE_RECORD_LIBRARY": str(libraries / record_library.name),
        "LD_LIBRARY_PATH": f"{libraries}:{python_3_14_library.parent}",
        "TURNPIKE_CUPTI": str(libraries / "libfakecupti.so"),
    }
    with starting_programs(folder) as started:
        yield lambda *command, **more: started(command, record.environment, **more)


# The interpreter of the tests may lie where the other user cannot read it. `4, 1`: such a program may be looked at.
BECOME = f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY}); ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)"


def become(program, how=BECOME):
    return program.replace('print("ready"', f'{how}\nprint("ready"')


def attach_as_root(attach, folder, *arguments):
    attached = attach.start(*arguments, cwd=folder)
    out, err = attached.communicate(timeout=60)
    return attached.returncode, out, err


def owners_in(path):
    return {(entry.stat().st_uid, entry.stat().st_gid) for entry in [path, *path.rglob("*")]}


def test_root_that_attaches_executes_nothing_of_a_hostile_program(theirs, attach, folder, tmp_path):
    (tmp_path / "hostile.c").write_text(HOSTILE)
    for name in ("python3.14", "serve"):
        subprocess.run(["cc", "-o", str(folder / name), str(tmp_path / "hostile.c")], check=True)
        process = theirs(folder / name, user=NOBODY, group=NOBODY, extra_groups=[])
        code, _, err = attach_as_root(attach, folder, process.pid)
        assert code == 3 and "its runtime is not found" in err
        assert [path.name for path in folder.glob("ran-as-*")] == []
        assert end(process) == (5, b"served\n", b"")


def test_root_that_attaches_writes_with_the_rights_of_the_programs_user(theirs, attach, folder):
    server = theirs(sys.executable, "-c", become(ASKED))
    code, _, err = attach_as_root(attach, folder, server.pid, "--duration", "0.3", "-o", "run.tpk")
    assert code == 0, err
    assert "turnpike: recorded 1 process into run.tpk (" in err
    assert list((folder / "run.tpk").glob("*.tpt"))
    assert owners_in(folder / "run.tpk") == {(NOBODY, NOBODY)}
    assert end(server) == (5, b"served\n", b"")


def test_the_user_attaches_to_his_own_program(theirs, attach, folder, record):
    """As the row before, without root."""
    command = folder / "turnpike"
    shutil.copy(record.turnpike, command)
    server = theirs(sys.executable, "-c", become(ASKED))
    environment = {name: value for name, value in record.environment.items() if name != "LD_LIBRARY_PATH"}
    done = subprocess.run(
        [str(command), "attach", str(server.pid), "--duration", "0.2", "-o", "run.tpk"],
        cwd=folder, env=environment, user=NOBODY, group=NOBODY, extra_groups=[],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert end(server) == (5, b"served\n", b"")


def test_a_link_of_the_programs_user_leads_root_nowhere(theirs, attach, folder, of_root):
    """He may have a link lie where the run or a part of its path would be."""
    server = theirs(sys.executable, "-c", become(ASKED))
    (folder / "run.tpk").symlink_to(of_root)
    (folder / "deep").symlink_to(of_root)
    for run in ("run.tpk", "deep/run.tpk"):
        code, _, err = attach_as_root(attach, folder, server.pid, "--duration", "0.1", "-o", run)
        assert code == 4 and "Permission denied" in err
    assert files(of_root) == []
    assert end(server) == (5, b"served\n", b"")


def test_where_the_programs_user_may_not_write_nothing_is_recorded(theirs, attach, of_root):
    server = theirs(sys.executable, "-c", become(ASKED))
    code, _, err = attach_as_root(attach, of_root, server.pid, "--duration", "0.1")
    assert code == 4 and "Permission denied. Name another with -o." in err
    assert files(of_root) == []
    assert end(server) == (5, b"served\n", b"")


def test_a_program_with_the_rights_of_two_users_is_left_alone(theirs, attach, folder):
    both = BECOME.replace(f"os.setuid({NOBODY})", f"os.setresuid(0, {NOBODY}, 0)")
    server = theirs(sys.executable, "-c", become(ASKED, both))
    code, _, err = attach_as_root(attach, folder, server.pid, "-o", "run.tpk")
    assert code == 3 and "has the rights of several users" in err
    assert not (folder / "run.tpk").exists()
    assert end(server) == (5, b"served\n", b"")


def test_programs_of_two_users_are_not_attached_to_at_once(theirs, attach, folder):
    servers = [theirs(sys.executable, "-c", become(ASKED)), theirs(sys.executable, "-c", ASKED)]
    code, _, err = attach_as_root(attach, folder, *(server.pid for server in servers), "-o", "run.tpk")
    assert code == 2 and "belong to several users" in err
    assert not (folder / "run.tpk").exists()
    for server in servers:
        assert end(server) == (5, b"served\n", b"")


def test_another_users_page_is_not_opened_in_a_browser_of_root(theirs, attach, folder):
    server = theirs(sys.executable, "-c", become(ASKED))
    code, _, err = attach_as_root(attach, folder, server.pid, "--open", "-o", "run.tpk")
    assert code == 2 and "--open shows no page of another user's process" in err
    assert end(server) == (5, b"served\n", b"")


def test_a_name_that_a_terminal_would_obey_is_not_shown_or_used(theirs, attach, folder):
    name = "\x1b]0;mine\x07\n.py"
    server = theirs(sys.executable, "-c", become(ASKED), name)
    code, out, err = attach_as_root(attach, folder, server.pid, "--duration", "0.1")
    assert code == 0, err
    assert not [letter for letter in out + err if ord(letter) < 32 and letter != "\n"]
    assert (folder / "attached.tpk").is_dir()
    assert end(server) == (5, b"served\n", b"")


# Answers at the socket of a dormant program, which it is not.
LIAR = """
import os, socket, threading
server = socket.socket(socket.AF_UNIX)
def lie():
    while True:
        client, _ = server.accept()
        client.recv(65536)
        client.sendall(b"turnpike/1 error\\nto=start\\nerror=\\x1b]0;mine\\x07" + b"A" * 60000 + b"\\n\\n")
"""


def test_what_a_program_answers_is_shown_cleaned_and_cut(theirs, attach, folder):
    listens = f"""server.bind("\\0turnpike.{NOBODY}." + str(os.getpid())); server.listen()
threading.Thread(target=lie, daemon=True).start()"""
    server = theirs(sys.executable, "-c", LIAR + become(SERVER, f"{BECOME}\n{listens}"))
    code, out, err = attach_as_root(attach, folder, server.pid, "-o", "run.tpk")
    assert code == 3 and "bytes in all" in err and len(err) < 3000
    assert not [letter for letter in out + err if ord(letter) < 32 and letter != "\n"]
    assert not (folder / "run.tpk").exists()
    assert end(server) == (5, b"served\n", b"")


ASK = """
import socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.settimeout(10)
connection.connect("\\0turnpike.0." + sys.argv[1])
try:
    connection.sendall(sys.argv[2].encode())
    print(connection.recv(1000))
except OSError as error:
    print(type(error).__name__)
"""


@pytest.mark.parametrize("asks", ["start\nTURNPIKE_RUN=/var/tmp/stolen.tpk\n", "status\n", "stop\n"])
def test_another_user_gets_no_answer_at_the_socket(theirs, folder, asks):
    """Of a program of root that has been attached to before and waits."""
    server = theirs(sys.executable, "-c", SERVER.replace("import ctypes", WAITING + "import ctypes", 1))
    until(lambda: waits(server.pid))
    asked = subprocess.run(
        ["/usr/bin/python3", "-c", ASK, str(server.pid), f"turnpike/1 {asks}\n"],
        capture_output=True, text=True, timeout=30, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/",
    )  # fmt: skip
    assert asked.stdout in ("b''\n", "ConnectionResetError\n", "BrokenPipeError\n"), asked
    assert not pathlib.Path("/var/tmp/stolen.tpk").exists()
    assert end(server) == (5, b"served\n", b"")


# As the driver loads the recorder into a dormant program.
WAITING = """
import ctypes, os
os.environ["TURNPIKE_CONTROL"] = "1"
ctypes.CDLL(os.environ["TURNPIKE_RECORD_LIBRARY"]).InitializeInjection()
"""


def test_another_user_may_not_attach(theirs, record, folder):
    command = folder / "turnpike"
    shutil.copy(record.turnpike, command)
    server = theirs(sys.executable, "-c", ASKED)
    done = subprocess.run(
        [str(command), "attach", str(server.pid), "-o", "run.tpk"],
        cwd=folder, user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 3
    assert "is another user's (user id 0): attach as that user, or as root" in done.stderr
    assert end(server) == (5, b"served\n", b"")


def test_another_program_at_the_name_of_the_socket_is_not_believed(theirs, attach, folder):
    """Anybody may take the name of an abstract socket first, and answer there."""
    server = theirs(sys.executable, "-c", become(SERVER))
    with socket.socket(socket.AF_UNIX) as false:
        false.bind(f"\0turnpike.{NOBODY}.{server.pid}")
        false.listen()
        code, _, err = attach_as_root(attach, folder, server.pid, "-o", "run.tpk")
    assert code == 3 and "is not the one that waits under its id" in err
    assert not (folder / "run.tpk").exists()
    assert end(server) == (5, b"served\n", b"")
