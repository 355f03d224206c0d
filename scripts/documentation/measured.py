"""Which code each result file describes, and whether that code has changed since the file was committed.

bench/results/code.toml says which folders a file describes. git says the rest: a commit counts as later unless the last
commit of the file builds on it, so what a merge brings in counts, too. What is not committed yet counts as one commit
on top. `scripts/docs --results` writes the answer into bench/results/README.md and into the pages.
"""

import json
import subprocess

import tomllib

from . import golden

RESULTS = "bench/results"
HEAD = """\
# Results

`scripts/docs --results` writes this table, as
[CONTRIBUTING.md](../../CONTRIBUTING.md#measured-numbers) explains. A file describes the code of some
folders ([code.toml](code.toml)). If a later commit changes them, today's figures may differ.

| file | what it measures | date | device | its code |
|---|---|---|---|---|
"""
CHANGED, AS_MEASURED = "code has changed since", "as measured"


def table(root=golden.ROOT):
    """What code.toml says, by name of the result files without their device: {"measures": ..., "folders": [...]}."""
    return tomllib.loads((root / RESULTS / "code.toml").read_text())


def described(name, known):
    """The entry of a result file: that of its name, or else of the longest beginning of its name."""
    words = name.removesuffix(".json").split("-")
    for count in range(len(words), 0, -1):
        if entry := known.get("-".join(words[:count])):
            return entry
    raise ValueError(f"{RESULTS}/code.toml does not say which code {name} describes")


def git(root, *arguments):
    try:
        found = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True)
    except OSError:
        return None
    return found.stdout if found.returncode == 0 else None


def history(root=golden.ROOT):
    """The commits, newest first, as (id, parents, files). None: no git, or not all of the history is here."""
    if git(root, "rev-parse", "--is-shallow-repository", "--show-prefix") != "false\n\n":
        return None
    log = git(root, "log", "--topo-order", "-c", "--format=%x00%H %P", "--name-only", "--no-renames")
    status = git(root, "status", "--porcelain", "--no-renames", "--untracked-files=all")
    if log is None or status is None:
        return None
    commits = []
    for part in log.split("\0")[1:]:
        head, *files = part.split("\n")
        commit, *parents = head.split()
        commits.append((commit, parents, [file for file in files if file]))
    return [("", [commits[0][0]], [line[3:] for line in status.splitlines()]), *commits]


def changed_since(commits, names, known):
    """Of the result files, those whose folders a commit changed on which their last commit does not build."""
    parents = {commit: above for commit, above, _ in commits}
    return {name for name in names if is_changed(commits, parents, name, described(name, known)["folders"])}


def is_changed(commits, parents, name, folders):
    last = next((commit for commit, _, files in commits if f"{RESULTS}/{name}" in files), None)
    if last is None:
        raise ValueError(f"no commit has {RESULTS}/{name}")
    below, waiting = set(), [last]
    while waiting:
        commit = waiting.pop()
        if commit not in below:
            below.add(commit)
            waiting += parents.get(commit, [])
    places = tuple(f"{folder}/" for folder in folders)
    return any(file.startswith(places) for commit, _, files in commits if commit not in below for file in files)


def results(root=golden.ROOT):
    return sorted(path.name for path in (root / RESULTS).glob("*.json"))


def changed(root=golden.ROOT):
    """The result files whose code has changed since; None where git cannot say."""
    commits = history(root)
    return None if commits is None else changed_since(commits, results(root), table(root))


def readme(changed, root=golden.ROOT):
    """The text of bench/results/README.md."""
    known, lines = table(root), []
    for name in results(root):
        result = json.loads((root / RESULTS / name).read_text())
        count = result["device_count"]
        device = {0: "no GPU", 1: result["device"]}.get(count, f"{count} x {result['device']}")
        state = CHANGED if name in changed else AS_MEASURED
        measures = described(name, known)["measures"]
        lines.append(f"| [{name}]({name}) | {measures} | {result['date'][:10]} | {device} | {state} |")
    return HEAD + "\n".join(lines) + "\n"


def sentence(dates, changed):
    """What a page says of its result files: {name: date}."""
    days = sorted(set(dates.values()))
    of_day = [", ".join(f"`{name}`" for name in dates if dates[name] == day) + f" on {day}" for day in days]
    said = f"Measured: {'; '.join(of_day)}."
    later = [f"`{name}`" for name in dates if name in changed]
    if not later:
        return f"{said} The code has not changed since."
    return f"{said} The code has changed since{'' if len(later) == len(dates) else ' for ' + ', '.join(later)}."
