"""The command in bin/ of an environment: it finds the package, and starts Python only for its parts."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import venv

import pytest

VERSION = (pathlib.Path(__file__).resolve().parents[2] / "VERSION").read_text().strip()
PYTHON = f"python{sys.version_info[0]}.{sys.version_info[1]}"
SITE = f"lib/{PYTHON}/site-packages"


@pytest.fixture
def prefix(tmp_path, launcher):
    """An environment in a folder whose name patterns would take for theirs."""
    prefix = tmp_path / "a [prefix] of*"
    (prefix / "bin").mkdir(parents=True)
    shutil.copy(launcher, prefix / "bin" / "turnpike")
    return prefix


def install(prefix, packages=SITE, told="native", version=VERSION):
    """Installs what pip would. The executable and the module only print their names and arguments."""
    package = prefix / packages / "turnpike"
    (package / "_native").mkdir(parents=True)
    executable = package / "_native" / "turnpike"
    executable.write_text(f'#!/bin/sh\necho {told} "$@"\n')
    executable.chmod(0o755)
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text("import sys\ndef main(): print('python', *sys.argv[1:], sys.executable)\n")
    (prefix / packages / f"turnpike_gpu-{version}.dist-info").mkdir()


def run(command, *words, **options):
    return subprocess.run([command, *words], capture_output=True, text=True, timeout=60, **options)


@pytest.mark.parametrize(
    "packages", [SITE, SITE.replace("lib/", "lib64/"), SITE.replace("site", "dist"), "lib/python3/dist-packages", ""]
)
def test_the_package_is_found_where_pip_puts_it(prefix, packages):
    install(prefix, packages)
    said = run(prefix / "bin" / "turnpike", "record", "--", "a b")
    assert (said.returncode, said.stdout, said.stderr) == (0, "native record -- a b\n", "")


def test_a_link_leads_to_the_environment_of_the_command(prefix, tmp_path):
    install(prefix)
    link = tmp_path / "turnpike"
    link.symlink_to(prefix / "bin" / "turnpike")
    assert run(link, "top").stdout == "native top\n"


def test_of_several_packages_the_one_of_its_version_is_taken(prefix):
    install(prefix, "lib/python3.10/site-packages", "older", "0.0.1")
    install(prefix, "lib/python3.12/site-packages")
    install(prefix, "lib/python3.13/site-packages", "newer", "99.0.0")
    assert run(prefix / "bin" / "turnpike").stdout == "native\n"


@pytest.mark.parametrize("word", ["bench", "export", "fleet"])
def test_commands_in_python_run_in_the_python_of_the_environment(prefix, word):
    install(prefix)
    (prefix / "bin" / PYTHON).symlink_to(sys.executable)
    said = run(prefix / "bin" / "turnpike", word, "a b", env={"PATH": "/nowhere"})
    assert said.stdout.startswith(f"python {word} a b "), said


def test_python_is_in_the_environment_whatever_the_path_names(prefix, tmp_path):
    venv.create(prefix)
    install(prefix)
    (prefix / SITE / "turnpike" / "__main__.py").write_text("import sys\ndef main(): print(sys.prefix, sys.argv[1:])\n")
    for path in (str(pathlib.Path(sys.executable).parent), "/nowhere"):
        said = run(prefix / "bin" / "turnpike", "export", "a.tpk", env={"PATH": path})
        assert said.stdout == f"{prefix} ['export', 'a.tpk']\n", said


def test_packages_of_a_user_run_in_the_first_python_of_their_version(prefix, tmp_path):
    install(prefix)
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / PYTHON).write_text("#!/bin/sh\necho from the path\n")
    (tmp_path / "path" / PYTHON).chmod(0o755)
    assert run(prefix / "bin" / "turnpike", "fleet", env={"PATH": str(tmp_path / "path")}).stdout == "from the path\n"


def test_files_in_the_current_folder_are_no_modules(prefix, tmp_path):
    install(prefix)
    (prefix / "bin" / PYTHON).symlink_to(sys.executable)
    (tmp_path / "turnpike.py").write_text("print('not this one')")
    assert run(prefix / "bin" / "turnpike", "fleet", cwd=tmp_path).stdout.startswith("python fleet ")


def test_without_python_the_executable_answers(prefix):
    install(prefix)
    assert run(prefix / "bin" / "turnpike", "fleet", env={"PATH": "/nowhere"}).stdout == "native fleet\n"


def test_without_its_package_it_says_what_to_do(prefix):
    said = run(prefix / "bin" / "turnpike", "report")
    assert said.returncode == 4 and str(prefix) in said.stderr and "python -m turnpike" in said.stderr


def test_an_executable_that_does_not_start_is_named(prefix):
    install(prefix)
    (prefix / SITE / "turnpike" / "_native" / "turnpike").chmod(0o644)
    said = run(prefix / "bin" / "turnpike", "report")
    assert said.returncode == 4 and "_native/turnpike does not start: Permission denied" in said.stderr


def test_another_project_of_the_name_is_told(prefix):
    install(prefix)
    (prefix / SITE / "turnpike-0.1.1.dist-info").mkdir()
    said = run(prefix / "bin" / "turnpike", "report")
    assert said.stdout == "native report\n"
    assert "turnpike-0.1.1.dist-info" in said.stderr and "pip uninstall turnpike" in said.stderr
    assert len(said.stderr.splitlines()) == 1


def test_signals_that_are_ignored_stay_so(prefix):
    install(prefix)
    (prefix / SITE / "turnpike" / "_native" / "turnpike").write_text("#!/bin/sh\ngrep SigIgn /proc/self/status\n")

    def ignore():
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_IGN)

    ignored = run(prefix / "bin" / "turnpike", "record", preexec_fn=ignore, restore_signals=False).stdout.split()[1]
    expected = sum(1 << (number - 1) for number in (signal.SIGPIPE, signal.SIGXFSZ))
    assert int(ignored, 16) & expected == expected


def test_environment_and_standard_input_are_handed_on(prefix):
    install(prefix)
    executable = prefix / SITE / "turnpike" / "_native" / "turnpike"
    executable.write_text('#!/bin/sh\nread line; echo "$line $MARK"; exit 7\n')
    said = run(prefix / "bin" / "turnpike", "report", input="typed\n", env={**os.environ, "MARK": "set"})
    assert (said.returncode, said.stdout) == (7, "typed set\n")
