"""The pictures of the pages: what `turnpike` prints on a terminal about committed recordings."""

import dataclasses

from . import golden, terminal_svg

FOLDER = golden.ROOT / "docs" / "pictures"


@dataclasses.dataclass(frozen=True)
class Picture:
    name: str
    command: str
    sections: tuple[str, ...] = ()

    @property
    def path(self):
        return FOLDER / f"{self.name}.svg"

    def draw(self, folder):
        output = golden.run_on_terminal(self.command, folder)
        lines = golden.sections(output.text, self.sections)
        return terminal_svg.draw(self.command, lines, golden.COLUMNS)


PICTURES = (
    Picture("item", "turnpike report train.tpk", ("VERDICT", "WHAT TO DO")),
    Picture("findings", "turnpike report before.tpk", ("WHAT TO DO",)),
    Picture("transfers", "turnpike report before.tpk --top 4", ("TRANSFERS BY LINE", "SYNCHRONISATIONS BY LINE")),
    Picture("diff", "turnpike diff before.tpk after.tpk", ("TURNPIKE DIFF", "VERDICT", "TRANSFERS PER STEP")),
    Picture("check", "turnpike check mnist.tpk --budget budget.toml"),
)


def drawn():
    with golden.folder() as folder:
        return {picture.path: picture.draw(folder) for picture in PICTURES}


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
