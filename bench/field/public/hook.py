"""Changes a scratch copy: a patch is applied, and a line that notes the steps goes into the loop."""

from __future__ import annotations

import ast
import difflib
import re
from pathlib import Path

HOOK = '__import__("field_steps").step()'
TRAINER_HOOK = '__import__("field_steps").count_steps_of({})'
MARK = "# field: a step begins"  # a patch that changes the loop's head puts this line where the hook shall be
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")


class CannotChange(Exception):
    """The text is another one than expected."""


def insert(path: Path, original: str, line: int) -> int:
    """Inserts the hook and returns its line. `line` is the loop's, or that of a statement, in the original text."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    marked = [number for number, one in enumerate(lines, 1) if one.strip() == MARK]
    if marked:
        at, hook = marked[0], HOOK
    else:
        at, hook = _place(original, text, line)
    before = lines[at - 1]
    lines.insert(at - 1, before[: len(before) - len(before.lstrip())] + hook + "\n")
    changed = "".join(lines)
    ast.parse(changed)
    path.write_text(changed, encoding="utf-8")
    return at


def _place(original: str, text: str, line: int) -> tuple[int, str]:
    """The line before which the hook goes, and the hook."""
    statement = _statement_at(original, line)
    if isinstance(statement, ast.For | ast.While):
        low, high = _new_lines(original, text, line)
        loops = [one for one in ast.walk(ast.parse(text)) if isinstance(one, type(statement))]
        found = [one for one in loops if low <= one.lineno < high]
        if len(found) != 1:
            raise CannotChange(f"the loop of line {line} cannot be told: put a line «{MARK}» into its body")
        return found[0].body[0].lineno, HOOK
    low, high = _new_lines(original, text, line)
    if high - low != 1:
        raise CannotChange(f"line {line} is changed: put a line «{MARK}» where a step begins")
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="train"))):
            return low, TRAINER_HOOK.format(name)
    return low, HOOK


def _statement_at(text: str, line: int) -> ast.stmt:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and node.lineno == line:
            return node
    raise CannotChange(f"no statement begins in line {line}")


def _new_lines(original: str, text: str, line: int) -> tuple[int, int]:
    """Maps a line of the original to a range of lines in the new text: its first line, and the line after its last."""
    matcher = difflib.SequenceMatcher(None, original.splitlines(), text.splitlines(), autojunk=False)
    for tag, first, end, new_first, new_end in matcher.get_opcodes():
        if first < line <= end:
            if tag == "equal":
                new = new_first + line - first
                return new, new + 1
            return new_first + 1, new_end + 1
    raise CannotChange(f"line {line} is gone")


def apply(patch: str, folder: Path) -> None:
    """Applies a unified diff whose paths begin with a/ and b/. The lines of each hunk must be found as they are."""
    rows = [row.rstrip("\r") for row in patch.split("\n")]
    path, lines, shift, at, hunks = folder, [""], 0, 0, 0
    while at < len(rows):
        if rows[at].startswith("--- ") and rows[at + 1].startswith("+++ "):
            path = folder / re.sub(r"^[ab]/", "", rows[at + 1][4:].split("\t")[0].strip())
            lines = [""] if rows[at].startswith("--- /dev/null") else path.read_text(encoding="utf-8").split("\n")
            at, shift = at + 2, 0
        elif head := HUNK.match(rows[at]):
            old: list[str] = []
            new: list[str] = []
            at, hunks = at + 1, hunks + 1
            while len(old) < int(head[2] or 1) or len(new) < int(head[3] or 1):
                kind, rest = rows[at][:1] or " ", rows[at][1:]
                old += [rest] if kind in " -" else []
                new += [rest] if kind in " +" else []
                at += 1
            start = _find(lines, old, max(0, int(head[1]) - 1 + shift), path.name)
            lines[start : start + len(old)] = new
            shift += len(new) - len(old)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(lines), encoding="utf-8")
        else:
            at += 1
    if not hunks:
        raise CannotChange("the patch holds no hunk")


def _find(lines: list[str], old: list[str], expected: int, name: str) -> int:
    places = [at for at in range(len(lines) - len(old) + 1) if lines[at : at + len(old)] == old]
    if not places:
        raise CannotChange(f"{name} does not hold these lines:\n" + "\n".join(old))
    return min(places, key=lambda at: abs(at - expected))
