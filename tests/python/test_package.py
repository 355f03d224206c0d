"""The package as it is installed: its version, the command, what the wheel carries, the stubs."""

import ast
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

import turnpike as tp
from turnpike import _core, _native

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(tp.__file__).parent


def output(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)


def test_version_is_that_of_the_file_version():
    assert tp.__version__ == (ROOT / "VERSION").read_text().strip()
    assert tp.__version__ in output(_native.EXECUTABLE, "--version", check=True).stdout


def test_command_and_module_are_the_native_executable():
    command = pathlib.Path(sysconfig.get_path("scripts")) / "turnpike"
    native = output(_native.EXECUTABLE, "--help", check=True).stdout
    assert output(command, "--help", check=True).stdout == native
    assert output(sys.executable, "-m", "turnpike", "--help", check=True).stdout == native


def test_command_hands_on_its_exit_code():
    assert output(sys.executable, "-m", "turnpike", "report", "/nowhere.tpk").returncode == 3
    assert output(sys.executable, "-m", "turnpike", "nonsense").returncode == 2


def test_the_library_that_records_stands_beside_the_executable():
    assert pathlib.Path(_native.RECORD_LIBRARY).parent == pathlib.Path(_native.EXECUTABLE).parent
    assert os.access(_native.EXECUTABLE, os.X_OK)
    assert pathlib.Path(_native.RECORD_LIBRARY).is_file()


def test_binaries_need_only_what_every_linux_has():
    allowed = re.compile(r"^(libc|libm|libdl|libpthread|librt|ld-linux-x86-64|ld-linux-aarch64)\.so\.\d+$")
    for binary in (_native.EXECUTABLE, _native.RECORD_LIBRARY, _core.__file__):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", binary, check=True).stdout)
        assert needed, binary
        assert [name for name in needed if not allowed.match(name)] == [], binary


def test_the_library_that_records_shows_only_its_interface():
    symbols = output("nm", "-D", "--defined-only", _native.RECORD_LIBRARY, check=True).stdout.split("\n")
    names = {line.split()[-1] for line in symbols if line}
    header = (ROOT / "src" / "record" / "session.h").read_text()
    assert names == set(re.findall(r"^\w[\w *]*?[ *](\w+)\(.*\);$", header, re.MULTILINE))


def test_stub_names_what_the_extension_has():
    stub = ast.parse((PACKAGE / "_core.pyi").read_text())
    names = {node.name for node in stub.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assert names == {name for name in dir(_core) if not name.startswith("_")}
    analysis = next(node for node in stub.body if isinstance(node, ast.ClassDef) and node.name == "Analysis")
    methods = {node.name for node in analysis.body if isinstance(node, ast.FunctionDef)}
    assert methods == {name for name in dir(_core.Analysis) if not name.startswith("_")}


def test_package_is_typed_and_documented():
    assert (PACKAGE / "py.typed").is_file()
    for name in tp.__all__:
        if name not in ("Error", "__version__"):
            assert getattr(tp, name).__doc__, name


FRAMEWORKS = ("torch", "numpy", "pytest", "lightning", "pytorch_lightning", "transformers", "accelerate", "ray")
BARE = """
import importlib.util, sys
assert [name for name in FRAMEWORKS if importlib.util.find_spec(name)] == []
import turnpike as tp
report = tp.report(RUN)
assert report.summary()["h2d_count"] > 0 and len(str(report)) > 1000 and report.table("transfers").columns
assert report.source.identities[0].pid
from turnpike.integrations.ray import runtime_env
assert runtime_env("run.tpk")["env_vars"]
for name in ("lightning", "transformers"):
    try:
        importlib.import_module("turnpike.integrations." + name)
    except ModuleNotFoundError as error:
        print(error.name)
"""


def test_an_environment_without_any_framework_imports_and_reports(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    site = output(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", check=True).stdout.strip()
    for package in (PACKAGE, PACKAGE.parent / "pytest_turnpike"):
        shutil.copytree(package, pathlib.Path(site) / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    run = ROOT / "examples" / "mnist-h100.tpk"
    program = f"FRAMEWORKS, RUN = {FRAMEWORKS!r}, {str(run)!r}\n{BARE}"
    told = output(python, "-I", "-c", program)
    assert (told.returncode, told.stdout.split()) == (0, ["lightning", "transformers"]), told.stderr
    assert "GPU" in output(python, "-I", "-m", "turnpike", "report", run, check=True).stdout


def test_the_package_itself_imports_no_framework():
    program = f"import sys, turnpike; print([name for name in {FRAMEWORKS!r} if name in sys.modules])"
    assert output(sys.executable, "-c", program, check=True).stdout == "[]\n"
