"""Fetches the third-party code of third_party.lock and unpacks it into one folder: headers/, libdeflate/, sqlite3/
and zlib/.

All of it comes from Debian's archive. Only headers and sources are taken, so the packages' processor does not matter.
"""

import hashlib
import pathlib
import shutil
import typing

from wheel_build.debian import Archive
from wheel_build.shell import WORK, BuildError, run, say

LOCK = pathlib.Path(__file__).with_name("third_party.lock")
DOWNLOADS = WORK / "downloads"
SOURCES = WORK / "sources"
NEEDED_COMMANDS = {"apt-get": "apt", "dpkg-source": "dpkg-dev", "make": "make", "cc": "gcc", "tclsh": "tcl"}


class Package(typing.NamedTuple):
    kind: str  # "deb" or "source"
    name: str
    version: str
    sha256: str

    @property
    def file(self):
        """Its .deb or .dsc."""
        (file,) = DOWNLOADS.glob(f"{self.name}_*.{'dsc' if self.kind == 'source' else 'deb'}")
        return file


def locked_lines():
    return [line.split() for line in LOCK.read_text().splitlines() if line and not line.startswith("#")]


def locked_packages():
    return [Package(*words) for words in locked_lines() if words[0] != "file"]


def locked_files():
    """The SHA-256 of each file that a source package consists of, besides its .dsc."""
    return {name: sha256 for kind, name, *rest in locked_lines() if kind == "file" for sha256 in rest}


def fetch(packages):
    archive = Archive(WORK / "apt")
    for kind, download in (("deb", archive.download), ("source", archive.download_sources)):
        wanted = [f"{package.name}={package.version}" for package in packages if package.kind == kind]
        download(
            wanted,
            DOWNLOADS,
            failure=f"Debian lacks one of these, so {LOCK.name} needs others: {' '.join(wanted)}",
        )
    check(DOWNLOADS, {package.file.name: package.sha256 for package in packages} | locked_files())


def check(folder, hashes):
    """Raises BuildError unless the folder has exactly the files that the lock names, with their content."""
    for path in sorted(folder.iterdir()):
        found, wanted = hashlib.sha256(path.read_bytes()).hexdigest(), hashes.get(path.name)
        if found != wanted:
            raise BuildError(f"{path.name} has the SHA-256 {found}; {LOCK.name} says {wanted or 'nothing of it'}")
    missing = hashes.keys() - {path.name for path in folder.iterdir()}
    if missing:
        raise BuildError(f"{LOCK.name} names files that were not fetched: {' '.join(sorted(missing))}")


def unpack(packages):
    unpacked = WORK / "unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    unpacked.mkdir()
    for package in packages:
        target = unpacked / package.name
        command = ["dpkg-source", "-x"] if package.kind == "source" else ["dpkg-deb", "-x"]
        run(*command, package.file, target, failure=f"{package.file.name} could not be unpacked")
        if package.kind == "deb":
            shutil.copytree(target / "usr" / "include", SOURCES / "headers", dirs_exist_ok=True)
    for name in ("libdeflate", "zlib"):
        shutil.copytree(unpacked / name, SOURCES / name)
    # SQLite's sources are many files; what one compiles is the one file that a script of theirs makes of them.
    configure, make = unpacked / "sqlite3" / "configure", WORK / "unpacked" / "sqlite3-made"
    make.mkdir()
    run(configure, "--disable-tcl", cwd=make, failure="SQLite could not be configured")
    run("make", "sqlite3.c", cwd=make, failure="SQLite's sources could not be joined")
    (SOURCES / "sqlite3").mkdir()
    for name in ("sqlite3.c", "sqlite3.h"):
        shutil.copy(make / name, SOURCES / "sqlite3")


def prepare():
    """Returns the folder with the sources, which is made again only if the lock changed."""
    stamp = SOURCES / "made-from.lock"
    if stamp.exists() and stamp.read_text() == LOCK.read_text():
        return SOURCES
    missing = [package for command, package in NEEDED_COMMANDS.items() if not shutil.which(command)]
    if missing:
        raise BuildError(f"missing here; these are Debian's names: {' '.join(missing)}")
    say("fetching third-party sources")
    for folder in (DOWNLOADS, SOURCES):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    packages = locked_packages()
    fetch(packages)
    unpack(packages)
    stamp.write_text(LOCK.read_text())
    return SOURCES
