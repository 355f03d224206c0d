"""Prepares a public program to be run: a scratch copy, the substitutions, the made-up data, and the command.

    python run.py REPOSITORIES SCRATCH NAME [NAME ...]

REPOSITORIES holds one checkout for each program, in a folder with the name that `programs.toml` calls `checkout`.
`--programs second.toml` names the second set instead.
The program is copied to SCRATCH/NAME, and its data is made in SCRATCH/data. The last line for each program is the
command to run. A substitution whose old text is not found exactly once stops the preparation.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import make_data
import tomllib

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs.toml"

ARGUMENTS = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"  # with parentheses inside parentheses
# What --cpu changes in all files of the copy, so that a program can be tried without a GPU. It is rough on purpose.
FOR_A_CPU = [
    (r"\.cuda\((?:[^()]|\(\))*\)", ".cpu()"),
    (r"""(['"])cuda(?::\{:d\}|:\d)?\1""", r"\1cpu\1"),
    (r"""(['"])nccl\1""", r"\1gloo\1"),
    (rf"torch\.cuda\.(?:set_device|synchronize|manual_seed|manual_seed_all|empty_cache){ARGUMENTS}", "None"),
    (rf"torch\.cuda\.(?:max_memory_allocated|max_memory_reserved|reset_peak_memory_stats){ARGUMENTS}", "0"),
    (r"torch\.cuda\.amp\.GradScaler\(\)", 'torch.amp.GradScaler("cpu")'),
    (r"assert torch\.cuda\.is_available\(\)", "assert True"),
    (r"(?<![.\w])rank % torch\.cuda\.device_count\(\)", '"cpu"'),
    (r"device_ids=\[[^\]]*\]", "device_ids=None"),
    (r"torch\.cuda\.FloatTensor", "torch.FloatTensor"),
]


def programs(path=PROGRAMS):
    with Path(path).open("rb") as file:
        return {table["name"]: table for table in tomllib.load(file)["program"]}


def copy_of(program, repositories, scratch):
    """Copies the checkout. If it is a git checkout, its commit must be the frozen one."""
    source = repositories / program["checkout"]
    if (source / ".git").exists():
        head = subprocess.run(["git", "-C", source, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
        if head.stdout.strip() != program["commit"]:
            sys.exit(f"{source} is at {head.stdout.strip()}, not at the frozen {program['commit']}")
    target = scratch / program["name"]
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    return target


def substitute(program, target):
    for change in program.get("substitution", []):
        path = target / change["file"]
        text = path.read_text(encoding="utf-8")
        found = text.count(change["old"])
        if found != 1:
            place = f"{program['name']}: {change['file']}"
            sys.exit(f"{place} has this text {found} times, not once:\n{change['old']}")
        path.write_text(text.replace(change["old"], change["new"]), encoding="utf-8")


def link_data(program, target, scratch):
    """Makes the sets and links each to where the program looks for it."""
    for link in program.get("data", []):
        made = make_data.make(link["set"], scratch / "data") / link.get("inside", "")
        place = target / link["at"]
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        os.symlink(made.resolve(), place)


def link_packages(program, target):
    """Links a package of the checkout to the script's folder, so that the checkout need not be installed."""
    for link in program.get("link", []):
        os.symlink((target / link["to"]).resolve(), target / link["at"])


def adapt_to_cpu(target):
    for path in target.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for pattern, new in FOR_A_CPU:
            text = re.sub(pattern, new, text)
        path.write_text(text, encoding="utf-8")


def call(program, cpu=False):
    """The variables that are set, and the words of the command."""
    settings = dict(program.get("environment", {}))
    arguments = program["command"]
    if cpu:
        settings["CUDA_VISIBLE_DEVICES"] = ""
        arguments = program.get("cpu_command", arguments)
    return settings, shlex.split(arguments)


def folder_of(program, target):
    """The folder in which the command runs."""
    return (target / program["folder"]).resolve()


def command(program, target, cpu):
    settings, words = call(program, cpu)
    words = [f"{key}={value}" for key, value in settings.items()] + words
    return f"cd {shlex.quote(str(folder_of(program, target)))} && env {shlex.join(words)}"


def prepare(program, repositories, scratch, cpu=False):
    target = copy_of(program, repositories, scratch)
    substitute(program, target)
    if cpu:
        adapt_to_cpu(target)
    link_packages(program, target)
    link_data(program, target, scratch)
    return command(program, target, cpu)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=Path)
    parser.add_argument("scratch", type=Path)
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--programs", type=Path, default=PROGRAMS, metavar="FILE", help="the list of the programs")
    parser.add_argument("--cpu", action="store_true", help="replace the GPU in the copy: only for a try")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the data to make: only for a try")
    options = parser.parse_args()
    make_data.SCALE = options.scale
    known = programs(options.programs)
    for name in options.names:
        if name not in known:
            sys.exit(f"no program is called {name}; there are {', '.join(known)}")
        print(prepare(known[name], options.repositories, options.scratch, options.cpu))


if __name__ == "__main__":
    main()
