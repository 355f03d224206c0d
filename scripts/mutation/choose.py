"""Which mutants a run tries: those on changed lines, or a random sample of all."""

import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import random
import re
import shlex
import subprocess

from . import cpp, python
from . import mutant as naming
from .mutant import Mutant

# Programs outside of the build compile these headers, and have no switch for mutants.
INSTALLED = {"src/record/session.h", "src/move/move.h", "src/base/result.h"}
RESOURCES = (
    "/usr/lib/llvm-*/lib/clang/*/include",
    ".venv/lib/python*/site-packages/clang_tidy/data/lib/clang/*/include",
)
# What GCC knows and clang does not, and what is of no use to a reader.
NOT_FOR_CLANG = re.compile(r"-W.*|-o|-c|-g|.*\.o|-fdiagnostics.*")


class NoClang(Exception):
    pass


def clang():
    try:
        import clang.cindex
    except ImportError:
        raise NoClang("C++ needs libclang: pip install -r scripts/requirements-mutate.txt") from None
    return clang.cindex


def resources(root):
    """The folder of the compiler's own headers (stddef.h and others), which libclang from PyPI comes without."""
    for pattern in RESOURCES:
        base = pathlib.Path("/") if pattern.startswith("/") else root
        found = sorted(base.glob(pattern.lstrip("/")))
        if found:
            return found[-1]
    raise NoClang("libclang needs the headers of clang: run scripts/bootstrap, or install clang-14")


def sources(root, folders):
    """The files that may hold mutants, below the folders."""
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "-c", "-o", "--exclude-standard"], capture_output=True, check=True
    )
    result = []
    for name in sorted(set(listed.stdout.decode().split("\0"))):
        is_source = name.startswith("src/") and name.endswith((".cpp", ".h")) and name not in INSTALLED
        is_python = name.startswith("python/turnpike/") and name.endswith(".py")
        is_wanted = any(name == folder or name.startswith(folder + "/") for folder in folders)
        if (is_source or is_python) and is_wanted and (root / name).is_file():
            result.append(name)
    return result


class Arguments:
    """How clang is called for a source of the checkout, from the commands of the tree's build."""

    def __init__(self, root, tree):
        self.by_path = {}
        self.by_folder = {}
        common = ["-isystem", str(resources(root)), "-w", "-ferror-limit=0"]
        for entry in json.loads((tree.commands / "compile_commands.json").read_text()):
            file = pathlib.Path(entry["file"])
            if not file.is_relative_to(tree.folder / "src") or file.suffix != ".cpp":
                continue
            words = shlex.split(entry["command"])[1:]
            words = [word.replace(str(tree.folder), str(root)) for word in words if word != entry["file"]]
            words = [word for word in words if not NOT_FOR_CLANG.fullmatch(word)]
            name = str(file.relative_to(tree.folder))
            self.by_path[name] = words + common
            self.by_folder.setdefault(name.split("/")[1], words + ["-x", "c++"] + common)

    def of(self, name):
        """None for what is not built here."""
        if name.endswith(".h"):
            return self.by_folder.get(name.split("/")[1])
        return self.by_path.get(name)


def of_file(root, name, arguments, cache):
    """The mutants of one file; remembered, because clang takes seconds."""
    text = (root / name).read_bytes()
    finders = [pathlib.Path(part.__file__).read_bytes() for part in (python if name.endswith(".py") else cpp, naming)]
    key = hashlib.sha256(b"\0".join([text, *finders, repr(arguments).encode()])).hexdigest()
    kept = cache / f"{name.replace('/', '.')}.{key[:16]}.json"
    if kept.exists():
        return [Mutant(**entry) for entry in json.loads(kept.read_text())]
    if name.endswith(".py"):
        found = python.mutants(root, name)
    else:
        found = cpp.mutants(clang(), root, name, arguments)
    cache.mkdir(parents=True, exist_ok=True)
    part = kept.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps([dataclasses.asdict(mutant) for mutant in found]))
    part.rename(kept)
    return found


def all_of(root, tree, names, jobs):
    """Every mutant of these files, and the files that are not built here."""
    arguments = Arguments(root, tree) if any(not name.endswith(".py") for name in names) else None
    work, left_out = [], []
    for name in names:
        own = None if name.endswith(".py") else arguments.of(name)
        if own is None and not name.endswith(".py"):
            left_out.append(name)
        else:
            work.append((root, name, own, tree.folder.parent / "found"))
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        found = list(pool.map(of_file, *zip(*work, strict=True))) if work else []
    return [mutant for mutants in found for mutant in mutants], left_out


def sample(mutants, count, seed):
    """The mutants in random order, the same for the same seed, and some more than `count`: a compiler rejects a few."""
    ordered = sorted(mutants, key=lambda mutant: (mutant.path, mutant.start, mutant.name))
    random.Random(seed).shuffle(ordered)
    return ordered[: count + count // 8 + 2]


# Changed lines


def git(root, *arguments):
    result = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True)
    return result.stdout.strip() if result.returncode == 0 else ""


def base(root):
    """The commit that the work is compared with: where the branch left main; on main, the commit before the last."""
    left = git(root, "merge-base", "main", "HEAD") or git(root, "merge-base", "origin/main", "HEAD")
    if left and left != git(root, "rev-parse", "HEAD"):
        return left
    return git(root, "rev-parse", "HEAD~1")


def changed_lines(root, since):
    """Path -> numbers of the lines that are new since a commit, with what is not committed."""
    changed = {}
    path = None
    for line in git(root, "diff", "-U0", "--no-color", "--no-ext-diff", since, "--", "src", "python").splitlines():
        if line.startswith("+++ "):
            path = line[6:] if line.startswith("+++ b/") else None
        found = re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)
        if found and path:
            first, count = int(found.group(1)), int(found.group(2) or 1)
            changed.setdefault(path, set()).update(range(first, first + count))
    for name in git(root, "ls-files", "-o", "--exclude-standard", "--", "src", "python").splitlines():
        changed[name] = set(range(1, (root / name).read_bytes().count(b"\n") + 2))
    return changed


def on_lines(mutants, changed):
    def touches(mutant):
        return any(
            mutant.line + more in changed.get(mutant.path, ()) for more in range(mutant.original.count("\n") + 1)
        )

    return [mutant for mutant in mutants if touches(mutant)]
