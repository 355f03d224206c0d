"""`%load_ext turnpike`: the magic `%%turnpike` records a cell of a notebook and shows its report."""

from __future__ import annotations

import argparse
import functools
import html
import pathlib
import shlex
import shutil
import tempfile
import weakref
from collections.abc import Callable
from typing import Any

from turnpike import _core
from turnpike._report import Report, analysis_of
from turnpike._session import record


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise _core.Error(f"%%turnpike: {message}\n{self.format_usage()}")


def _parser() -> _Parser:
    parser = _Parser(prog="%%turnpike", add_help=False)
    parser.add_argument("--detail", choices=("full", "transfers"), default="full")
    parser.add_argument("--verify-content", action="store_true")
    parser.add_argument("-o", "--output", metavar="RUN")
    return parser


class _Named:
    """An analysis whose places in cells are named as notebooks number them."""

    def __init__(self, analysis: _core.Analysis, names: dict[str, str]) -> None:
        self._analysis = analysis
        # A report names a file by its last part in places, and in full elsewhere. The longest first.
        parts = {**names, **{pathlib.PurePath(name).name: cell for name, cell in names.items()}}
        self._parts = sorted(parts.items(), key=lambda part: -len(part[0]))

    def _named(self, text: str, written: Callable[[str], str] = str) -> str:
        for part, cell in self._parts:
            text = text.replace(written(part), cell)
        return text

    def json(self) -> str:
        return self._named(self._analysis.json())

    def text(self, width: int, top: int, show: list[str]) -> str:
        return self._named(self._analysis.text(width, top, show))

    def overview(self, path: str, address: str) -> str:
        return self._named(self._analysis.overview(path, address), html.escape)

    def write_page(self, *_: object) -> None:
        raise _core.Error("the recording of a cell is temporary: keep it with -o RUN, then turnpike.report(RUN)")


def run_cell(shell: Any, line: str, cell: str, is_below_magic: bool) -> Report | None:
    """Records a cell as it runs in the kernel; binds its report to `_turnpike`. None where the cell raised."""
    given = _parser().parse_args(shlex.split(line))
    files: dict[str, int] = shell.compile._filename_map  # of every cell, by the name that IPython made up
    number, before = max(files.values(), default=0), set(files)
    run, forget = given.output, None
    if run is None:
        folder = tempfile.mkdtemp(prefix="turnpike-notebook-")
        run = str(pathlib.Path(folder) / "cell.tpk")
        # Tables read the run again, so it stays for as long as the report, and goes with the kernel at the latest.
        forget = functools.partial(shutil.rmtree, folder, ignore_errors=True)
    try:
        with record(run, detail=given.detail, verify_content=given.verify_content):
            # The line of the magic itself counts, as in the notebook. A magic below it must be the first line, though.
            has_own_magic = cell.lstrip().startswith("%%")
            result = shell.run_cell("#\n" + cell if is_below_magic and not has_own_magic else cell)
        if not result.success:
            return None  # IPython has shown the exception
        # IPython takes what a magic runs for a cell of its own.
        cells = {name: f"In[{files[name] if name in before else number}]" for name in files}
        analysis: Any = _Named(analysis_of([run]), cells)
        if forget:
            weakref.finalize(analysis, forget)
            forget = None
    finally:
        if forget:
            forget()
    named = Report(analysis, [run])
    shell.user_ns["_turnpike"] = named
    return named


def load(shell: Any) -> None:
    """Adds `%turnpike` and `%%turnpike`."""

    def turnpike(line: str, cell: str | None = None) -> Report | None:
        """%%turnpike [--detail full|transfers] [--verify-content] [-o RUN]: records the cell and shows its report."""
        return run_cell(shell, "", line, False) if cell is None else run_cell(shell, line, cell, True)

    shell.register_magic_function(turnpike, "line_cell", "turnpike")
