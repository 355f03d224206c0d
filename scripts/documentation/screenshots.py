"""The screenshots of the HTML report, which Chromium makes: web/tools/screenshots.ts lists them.

The suite `web` compares them with what the page shows, within a tolerance: no two machines draw the same bytes.
"""

import pathlib
import shutil
import subprocess

from . import golden

ROOT = golden.ROOT
WEB = ROOT / "web"


def node():
    inside = ROOT / ".venv" / "bin" / "node"
    return inside if inside.exists() else shutil.which("node")


def missing():
    """Why no screenshot can be taken here; "" where they can."""
    if node() is None or not (WEB / "node_modules").is_dir():
        return "web/node_modules is missing: run scripts/test --only web once"
    if shutil.which("chromium") is None:
        return "Chromium is missing: run scripts/bootstrap --web"
    return ""


def update():
    """Takes all of them again and returns their paths."""
    command = [node(), "tools/run.mjs", "tools/take_screenshots.ts", ROOT, golden.executable()]
    subprocess.run([str(word) for word in command], cwd=WEB, stdout=subprocess.DEVNULL, check=True)
    return sorted(pathlib.Path(ROOT / "docs" / "pictures").glob("*.webp"))
