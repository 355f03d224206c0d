"""THIRD_PARTY_NOTICES.txt names each project whose code is in a wheel, and pyproject.toml puts it into every wheel."""

import json
import pathlib
import re

import nanobind

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTICES = (ROOT / "THIRD_PARTY_NOTICES.txt").read_text()
# What the notices call a package of Debian, of CMake or of npm.
NAMES = {
    "cli11": "CLI11",
    "fmt": "fmt",
    "tomlplusplus": "toml++",
    "xxhash": "xxHash",
    "nlohmann-json3": "nlohmann/json",
    "nlohmann_json": "nlohmann/json",
    "libdeflate": "libdeflate",
    "sqlite3": "SQLite",
    "zlib": "zlib",
    "nanobind": "nanobind",
    "robin_map": "robin_map",
    "preact": "Preact",
    "nvtx3": "NVTX",
}
# Nothing of these gets into a binary: Python's headers, and the C library's threads.
OF_THE_SYSTEM = {"python", "threads"}


def linked():
    """The projects that the build fetches, finds or includes."""
    lock = (ROOT / "scripts/wheel_build/third_party.lock").read_text()
    yield from (name.removesuffix("-dev") for name in re.findall(r"^(?:deb|source) (\S+)", lock, re.MULTILINE))
    for path in [*(ROOT / "src").rglob("CMakeLists.txt"), *(ROOT / "cmake").glob("*.cmake")]:
        if path.name != "turnpike-config.cmake":
            yield from re.findall(r"find_package\((\w+?)3? ", path.read_text())
    yield from json.loads((ROOT / "web/package.json").read_text())["dependencies"]
    yield from (path.name for path in (pathlib.Path(nanobind.__file__).parent / "ext").iterdir())
    if any("<nvtx3/" in path.read_text() for path in (ROOT / "src/cuda").glob("*.cpp")):
        yield "nvtx3"


def named(component):
    component = component.lower()
    return NAMES.get(component) or NAMES.get(component.removeprefix("lib"))


def test_every_project_in_a_wheel_is_named_with_its_license():
    found = {one for one in linked() if one.lower() not in OF_THE_SYSTEM}
    assert len(found) > 10
    for component in found:
        name = named(component)
        assert name, f"{component} is linked: name it in THIRD_PARTY_NOTICES.txt and here"
        assert re.search(rf"^{re.escape(name)}  +\S", NOTICES, re.MULTILINE), name


def test_every_project_in_the_list_has_its_notice():
    listed, *notices = re.split(r"^-{80,}$", NOTICES, flags=re.MULTILINE)
    headings = {name for notice in notices for name in notice.strip().splitlines()[0].split(", ")}
    assert set(re.findall(r"^(\S+)  +\S", listed, re.MULTILINE)) == headings
    for notice in notices:
        assert "copyright" in notice.lower(), notice


def test_pip_installs_the_notices_with_the_package():
    files = re.search(r"^license-files = \[(.*)\]", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]
    assert re.findall(r'"(.*?)"', files) == ["LICENSE", "THIRD_PARTY_NOTICES.txt"]
