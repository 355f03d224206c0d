"""The wheels to test, and how to run what is in them."""

import os
import pathlib
import re
import subprocess
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = os.environ.get("TURNPIKE_WHEELS")


class Wheel:
    def __init__(self, path):
        self.path = path
        self.name = path.name
        self.version, self.python, self.abi, self.platform = path.stem.split("-")[1:5]
        self.processor = re.search(r"manylinux_\d+_\d+_(\w+)", self.platform).group(1)

    @property
    def is_free_threaded(self):
        return self.abi.endswith("t")

    def unpack(self, folder):
        with zipfile.ZipFile(self.path) as archive:
            for member in archive.infolist():
                target = pathlib.Path(archive.extract(member, folder))
                if target.is_file():
                    target.chmod(member.external_attr >> 16 & 0o777 or 0o644)
        return folder


def wheels(processor=None):
    every = [Wheel(path) for path in sorted(pathlib.Path(FOLDER).glob("turnpike_gpu-*.whl"))] if FOLDER else []
    return [wheel for wheel in every if processor in (None, wheel.processor)]


def output(*command, **options):
    """Standard output of a command. A failure shows what it wrote to standard error."""
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert result.returncode == 0, f"{command}: {result.returncode}\n{result.stderr}"
    return result.stdout
