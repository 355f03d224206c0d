"""The pictures of the pages: what `turnpike` prints and exports about committed recordings."""

import dataclasses
import json

from . import golden, terminal_svg, timeline_svg

FOLDER = golden.ROOT / "docs" / "pictures"


@dataclasses.dataclass(frozen=True)
class Terminal:
    """A command and what it prints."""

    name: str
    command: str
    sections: tuple[str, ...] = ()

    def draw(self, folder):
        output = golden.run_on_terminal(self.command, folder)
        lines = golden.sections(output.text, self.sections)
        return terminal_svg.draw(self.command, lines, golden.COLUMNS)


@dataclasses.dataclass(frozen=True)
class Timeline:
    """Runs on one scale, from their middle on."""

    name: str
    runs: tuple[tuple[str, str], ...]
    length_ms: int

    def draw(self, folder):
        return timeline_svg.draw([(title, self.exported(run, folder)) for title, run in self.runs], self.length_ms)

    def exported(self, run, folder):
        return json.loads(golden.run(f"turnpike export {run} --to chrome -o -", folder).text)


PICTURES = (
    Terminal("item", "turnpike report train.tpk", ("VERDICT", "WHAT TO DO")),
    Terminal("findings", "turnpike report before.tpk", ("WHAT TO DO",)),
    Terminal("transfers", "turnpike report before.tpk --top 4", ("TRANSFERS BY LINE", "SYNCHRONISATIONS BY LINE")),
    Terminal("diff", "turnpike diff before.tpk after.tpk", ("TURNPIKE DIFF", "VERDICT", "TRANSFERS PER STEP")),
    Terminal("check", "turnpike check mnist.tpk --budget budget.toml"),
    Timeline("timeline", (("train_before.py", "before.tpk"), ("train_after.py", "after.tpk")), 50),
)


def drawn():
    with golden.folder() as folder:
        return {FOLDER / f"{picture.name}.svg": picture.draw(folder) for picture in PICTURES}


def stale():
    """The pictures that are not what the script makes now, and those that no script makes."""
    now = drawn()
    others = set(FOLDER.glob("*.svg")) - set(now)
    return sorted(others | {path for path, svg in now.items() if not path.exists() or path.read_text() != svg})


def update():
    found = stale()
    now = drawn()
    FOLDER.mkdir(exist_ok=True)
    for path in found:
        if path in now:
            path.write_text(now[path])
        else:
            path.unlink()
    return found
