"""Packages from Debian's archive, by this machine's own apt sources but into folders of ours: nothing is installed."""

import pathlib
import re

from wheel_build.shell import run


def with_sources(text, suite=None):
    """Apt's sources of Debian, in either format, with the packages' sources among them. Those of others are left out.

    `suite`: another release than the machine's, such as bullseye.
    """
    if "Types:" in text:
        stanzas = [stanza for stanza in re.split(r"\n\s*\n", text) if re.search(r"^URIs:.*/debian/?$", stanza, re.M)]
        if suite:
            stanzas = [re.sub(r"^Suites:.*", f"Suites: {suite}", stanza, flags=re.M) for stanza in stanzas]
        return "\n\n".join(re.sub(r"^Types:.*", "Types: deb deb-src", stanza, flags=re.M) for stanza in stanzas)
    lines = [line for line in text.splitlines() if re.match(r"deb\s.*/debian/?\s", line)]
    if suite:
        lines = [re.sub(r"(/debian/?)\s+\S+", rf"\1 {suite}", line) for line in lines]
    return "\n".join(line for binary in lines for line in (binary, binary.replace("deb", "deb-src", 1)))


class Archive:
    """One release for one architecture, the machine's own if none is named. `folder` keeps the lists of packages."""

    def __init__(self, folder, suite=None, architecture=None):
        self.folder = folder
        for name in ("sources", "lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for name in ("sources.list", "status"):
            (folder / name).touch()
        machine = pathlib.Path("/etc/apt")
        for path in [machine / "sources.list", *(machine / "sources.list.d").glob("*")]:
            if path.is_file():
                (folder / "sources" / path.name).write_text(with_sources(path.read_text(), suite) + "\n")
        self.options = {
            "Dir::Etc::SourceList": folder / "sources.list",
            "Dir::Etc::SourceParts": folder / "sources",
            "Dir::State::Lists": folder / "lists",
            "Dir::State::Status": folder / "status",  # what is installed here does not matter
            "Dir::Cache": folder / "cache",
            "APT::Sandbox::User": "",
        }
        if architecture:
            self.options |= {"APT::Architecture": architecture, "APT::Architectures": architecture}
        self._apt("update", failure="Debian's lists of packages could not be fetched")

    def _apt(self, *arguments, failure, cwd=None):
        options = (f"-o{name}={value}" for name, value in self.options.items())
        run("apt-get", *options, *arguments, cwd=cwd or self.folder, failure=failure)

    def download(self, packages, target, failure):
        """Puts the .deb of each package ("name" or "name=version") into `target`."""
        self._apt("download", *packages, cwd=target, failure=failure)

    def download_sources(self, packages, target, failure):
        self._apt("source", "--download-only", *packages, cwd=target, failure=failure)

    def unpack(self, packages, root):
        """Unpacks packages, which need no version, into a folder as into the root of a system."""
        downloads = self.folder / "packages"
        downloads.mkdir(exist_ok=True)
        self.download(packages, downloads, failure=f"Debian has no {' '.join(packages)} here")
        for package in sorted(downloads.glob("*.deb")):
            run("dpkg-deb", "-x", package, root, failure=f"{package.name} could not be unpacked")
