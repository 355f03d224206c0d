"""The command: builds or serves the site, and rewrites what is generated and committed."""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

from . import figures, measured, pictures, screenshots, shown

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site"

DESCRIPTION = """\
Builds the documentation site into build/site. Open build/site/index.html; no server is needed. A warning is an error,
and so is a committed picture or output that differs from what Turnpike prints today, and a number that differs from its
result file.

    scripts/docs              build the site
    scripts/docs --serve      serve it on http://127.0.0.1:8000, and build it again after each change
    scripts/docs --results    write the tables and dates of results in the pages again; quick, and needs no build
    scripts/docs --entries    print an entry for bench/figures to fill in for each number that has none
    scripts/docs --update     do as --results, write the pictures and the outputs again, and take the screenshots
    scripts/docs --check      only compare them
"""


def stale():
    paths = pictures.stale() + shown.stale() + figures.stale(changed_code())
    return sorted({str(path.relative_to(ROOT)) for path in paths})


def changed_code():
    """The result files whose code has changed since; None, with a message, where git cannot say."""
    found = measured.changed()
    if found is None:
        print("git has no whole history here, so it is not known which code has changed since it was measured")
    return found


def loads_from_elsewhere(site):
    """What the pages load from other hosts: nothing, since the site works offline. Links are no loads."""
    url = r"((?:https?:)?//[^\"')]*)"
    patterns = {
        "*.html": rf'<(?:script|img|iframe)\b[^>]*?\ssrc="{url}|<link\b[^>]*?\shref="{url}',
        "*.css": rf"@import\s+(?:url\()?[\"']?{url}|url\([\"']?{url}",
    }
    found = {
        f"{path.relative_to(site)}: {first or second}"
        for glob, pattern in patterns.items()
        for path in site.rglob(glob)
        for first, second in re.findall(pattern, path.read_text())
    }
    return sorted(found)


def mkdocs(*arguments):
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # about another major version: not ours to mend
    command = [sys.executable, "-m", "mkdocs", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


def build(config, site):
    # Not --quiet: it would hide warnings, also from --strict, which counts those that are shown.
    return mkdocs("build", "--strict", "--config-file", str(config), "--site-dir", str(site))


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/docs", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--serve", action="store_true", help="serve the site and build it again after each change")
    ways.add_argument("--results", action="store_true", help="write only what is made from result files again")
    ways.add_argument("--entries", action="store_true", help="print entries for numbers that have none")
    ways.add_argument("--update", action="store_true", help="write the pictures and the outputs in the pages again")
    ways.add_argument("--check", action="store_true", help="only compare them with what is committed")
    arguments = parser.parse_args()

    if arguments.entries:
        for name, texts in figures.missing_entries().items():
            print("\n".join([f"# {name}", *texts]))
        return 0
    if arguments.update or arguments.results:
        others = [] if arguments.results else pictures.update() + shown.update()
        for path in others + figures.update(changed_code()):
            print(f"updated {path.relative_to(ROOT)}")
    if arguments.results:
        return 0
    if arguments.update:
        if reason := screenshots.missing():
            print(f"took no screenshots of the HTML report: {reason}")
            return 1
        for path in screenshots.update():
            print(f"took {path.relative_to(ROOT)}")
        return 0
    if arguments.serve:
        return mkdocs("serve", "--strict")
    start_s = time.monotonic()
    found = stale()
    for path in found:
        print(f"{path} is not what Turnpike prints or measured: run scripts/docs --update and look at the change")
    wrong = figures.mistakes()
    for mistake in wrong:
        print(mistake)
    if arguments.check or found or wrong:
        return 1 if found or wrong else 0
    failed = build(ROOT / "mkdocs.yml", SITE)
    for load in loads_from_elsewhere(SITE) if not failed else []:
        print(f"loaded from another host: {load}")
        failed = 1
    if not failed:
        print(f"built {SITE.relative_to(ROOT)}/index.html in {time.monotonic() - start_s:.0f} s")
    return failed


if __name__ == "__main__":
    sys.exit(main())
