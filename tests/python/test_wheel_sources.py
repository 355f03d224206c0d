"""Where scripts/wheels gets third-party code: from the sources of Debian's own image, and only what its lock names."""

import hashlib
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from wheel_build import debian, third_party  # noqa: E402
from wheel_build.shell import BuildError  # noqa: E402

# /etc/apt/sources.list.d/debian.sources of the image debian:12.
OF_THE_IMAGE = """Types: deb
# http://snapshot.debian.org/archive/debian/20250520T000000Z
URIs: http://deb.debian.org/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
# http://snapshot.debian.org/archive/debian-security/20250520T000000Z
URIs: http://deb.debian.org/debian-security
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
"""


def test_the_sources_of_the_image_are_used_with_those_of_the_packages():
    kept = debian.with_sources(OF_THE_IMAGE)
    assert re.findall(r"^URIs: (.*)", kept, re.MULTILINE) == ["http://deb.debian.org/debian"]
    assert "Types: deb deb-src\n" in kept and "Signed-By:" in kept


def test_another_release_can_be_asked_for():
    assert re.findall(r"^Suites: (.*)", debian.with_sources(OF_THE_IMAGE, "bullseye"), re.MULTILINE) == ["bullseye"]


def test_the_older_format_is_read_and_others_are_left_out():
    text = "deb http://deb.debian.org/debian bookworm main\ndeb https://example.org/apt stable main\n"
    assert debian.with_sources(text).splitlines() == [
        "deb http://deb.debian.org/debian bookworm main",
        "deb-src http://deb.debian.org/debian bookworm main",
    ]


def test_the_workflow_that_builds_wheels_runs_in_that_image():
    workflow = (ROOT / ".github/workflows/wheels.yml").read_text()
    assert re.search(r"^    container: debian:12\b", workflow, re.MULTILINE)


def test_the_lock_names_the_parts_of_each_source_package():
    files = third_party.locked_files()
    for package in third_party.locked_packages():
        parts = [name for name in files if name.startswith(f"{package.name}_")]
        assert len(parts) >= 2 if package.kind == "source" else parts == [], package
    assert all(re.fullmatch(r"[0-9a-f]{64}", sha256) for sha256 in files.values())


def hash_of(data):
    return hashlib.sha256(data).hexdigest()


def test_only_what_the_lock_names_is_accepted(tmp_path):
    (tmp_path / "a.dsc").write_bytes(b"names a.tar")
    (tmp_path / "a.tar").write_bytes(b"sources")
    hashes = {"a.dsc": hash_of(b"names a.tar"), "a.tar": hash_of(b"sources")}
    third_party.check(tmp_path, hashes)
    with pytest.raises(BuildError, match="a.tar has the SHA-256 .* says nothing of it"):
        third_party.check(tmp_path, {"a.dsc": hashes["a.dsc"]})
    with pytest.raises(BuildError, match="not fetched: b.tar"):
        third_party.check(tmp_path, hashes | {"b.tar": hash_of(b"")})
    (tmp_path / "a.tar").write_bytes(b"others")
    with pytest.raises(BuildError, match=f"a.tar has the SHA-256 {hash_of(b'others')}; .* says {hashes['a.tar']}"):
        third_party.check(tmp_path, hashes)
