"""Parts of other systems, unpacked from Debian's archive: an older glibc, another processor. Kept in build/wheels."""

import platform
import shutil

import pytest
from wheel_build.debian import Archive
from wheel_build.shell import WORK, BuildError

PYTHON_LIBRARIES = ["libexpat1", "zlib1g", "libgcc-s1", "libbz2-1.0", "liblzma5"]


def unpack(name, packages, suite=None, architecture=None):
    """A folder with these packages in it as in a root. Skips the test where Debian's archive cannot be used."""
    root = WORK / "roots" / name
    listed = root / "unpacked.txt"
    if listed.exists() and listed.read_text().split() == packages:
        return root
    shutil.rmtree(root, ignore_errors=True)
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        pytest.skip(f"apt-get and dpkg-deb are needed to unpack {' '.join(packages)}")
    partial = root.with_name(name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        Archive(WORK / "roots" / f"{name}-apt", suite, architecture).unpack(packages, partial)
    except BuildError as error:
        pytest.skip(f"Debian's archive does not give {' '.join(packages)}: {str(error).splitlines()[-1]}")
    # The loader is named by its path on a system where /lib is a link.
    if not (partial / "lib").exists():
        (partial / "lib").symlink_to("usr/lib")
    (partial / listed.name).write_text("\n".join(packages) + "\n")
    return partial.rename(root)


def old_glibc(architecture):
    """Debian 11: glibc 2.31, that of Ubuntu 20.04, with a Python to load libraries into."""
    packages = [
        "libc6",
        "python3.9-minimal",
        "libpython3.9-minimal",
        "libpython3.9-stdlib",
        "libffi7",
        *PYTHON_LIBRARIES,
    ]
    return unpack(f"bullseye-{architecture}", packages, "bullseye", architecture)


def python_3_13(architecture):
    """Debian 13."""
    packages = ["libc6", "python3.13-minimal", "libpython3.13-minimal", "libpython3.13-stdlib", "libffi8"]
    return unpack(f"trixie-{architecture}", packages + PYTHON_LIBRARIES, "trixie", architecture)


def python_3_14(architecture):
    """Debian 14."""
    packages = ["libc6", "python3.14-minimal", "libpython3.14-minimal", "libpython3.14-stdlib", "libffi8"]
    return unpack(f"forky-{architecture}", packages + PYTHON_LIBRARIES, "forky", architecture)


def qemu_aarch64():
    """The emulator of one process: this machine's, or Debian's."""
    if platform.machine() != "x86_64":
        pytest.skip("the emulator is fetched for x86-64")
    found = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    return found or unpack("qemu", ["qemu-user-static"]) / "usr" / "bin" / "qemu-aarch64-static"
