"""What the binaries in each wheel need and show, whatever the processor: read from the files, nothing runs."""

import re

import pytest
from wheel_build.toolchain import GLIBC
from wheel_files import ROOT, output, wheels

ALLOWED = re.compile(r"^(libc|libm|libdl|libpthread|librt|ld-linux-x86-64|ld-linux-aarch64)\.so\.\d+$")


@pytest.fixture(scope="module", params=wheels(), ids=lambda wheel: wheel.name)
def wheel(request):
    return request.param


@pytest.fixture(scope="module")
def package(wheel, tmp_path_factory):
    return wheel.unpack(tmp_path_factory.mktemp("wheel")) / "turnpike"


BINARIES = {
    "command": "../turnpike_gpu-*.data/scripts/turnpike",
    "executable": "_native/turnpike",
    "recorder": "_native/libturnpike_record.so",
    "guard": "_native/libturnpike_guard.so",
    "extension": "_core*.so",
}


@pytest.fixture(
    scope="module",
    params=[
        (wheel, kind) for wheel in wheels() for kind in BINARIES if kind != "extension" or not wheel.is_free_threaded
    ],
    ids=lambda pair: f"{pair[1]} of {pair[0].name}",
)
def binary(request, tmp_path_factory):
    wheel, kind = request.param
    (path,) = (wheel.unpack(tmp_path_factory.mktemp("wheel")) / "turnpike").glob(BINARIES[kind])
    return path


def test_there_are_wheels_to_look_at():
    assert wheels()


def test_licenses_of_all_code_are_in_the_wheel(package):
    (licenses,) = package.parent.glob("turnpike_gpu-*.dist-info/licenses")
    for name in ("LICENSE", "THIRD_PARTY_NOTICES.txt"):
        assert (licenses / name).read_bytes() == (ROOT / name).read_bytes()


def test_tag_names_the_glibc_that_was_chosen(wheel):
    assert f"manylinux_{GLIBC[0]}_{GLIBC[1]}_{wheel.processor}" in wheel.platform


def test_binaries_are_for_the_processor_of_the_tag(package, wheel):
    machine = {"x86_64": "X86-64", "aarch64": "AArch64"}[wheel.processor]
    for binary in (package / "_native" / "turnpike", *package.rglob("*.so")):
        assert machine in re.search(r"Machine:(.*)", output("readelf", "-h", binary)).group(1)


def test_binary_needs_no_later_glibc(binary):
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", output("readelf", "-V", "-W", binary))
    assert versions
    assert max((int(major), int(minor)) for major, minor in versions) <= GLIBC


def test_binary_needs_no_version_of_another_library(binary):
    versions = set(re.findall(r"Name: (\w+)", output("readelf", "-V", "-W", binary)))
    assert {name.partition("_")[0] for name in versions} == {"GLIBC"}


def test_binary_needs_only_what_every_linux_has(binary):
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", binary))
    assert needed
    assert [name for name in needed if not ALLOWED.match(name)] == []


def shown(binary):
    """The names that a library defines for others."""
    names = set()
    for line in output("readelf", "--dyn-syms", "-W", binary).splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[4] in ("GLOBAL", "WEAK", "UNIQUE") and fields[6] != "UND":
            names.add(fields[7].partition("@")[0])
    return names


def test_recorder_shows_only_its_interface(package):
    header = (ROOT / "src" / "record" / "session.h").read_text()
    interface = set(re.findall(r"^\w[\w *]*?[ *](\w+)\(.*\);$", header, re.MULTILINE))
    assert shown(package / "_native" / "libturnpike_record.so") == interface


def test_guard_shows_only_its_interface(package):
    header = (ROOT / "src" / "guard" / "guard.h").read_text()
    interface = set(re.findall(r"^\w[\w *]*?[ *](\w+)\(.*\);$", header, re.MULTILINE))
    assert shown(package / "_native" / "libturnpike_guard.so") == interface


def test_extension_shows_only_its_start(package, wheel):
    extensions = list(package.glob("_core*.so"))
    # A free-threaded build must find none: it could not tell that it is not for it.
    assert len(extensions) == (0 if wheel.is_free_threaded else 1)
    for extension in extensions:
        assert shown(extension) == {"PyInit__core"}


@pytest.mark.parametrize("library", ["libturnpike_record.so", "libturnpike_guard.so"])
def test_library_stays_loaded(package, library):
    assert "NODELETE" in output("readelf", "-d", "-W", package / "_native" / library)
