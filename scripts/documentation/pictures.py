"""The pictures of the pages: what `turnpike` prints and exports about committed recordings, and what it measured."""

import dataclasses
import json

from . import bench_svg, golden, terminal_svg, timeline_svg

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


def bench_result(name):
    return json.loads((golden.ROOT / "bench" / "results" / name).read_text())


@dataclasses.dataclass(frozen=True)
class Curves:
    """Rates over the size from a result of `turnpike bench`: (title, experiment, series) for each plot."""

    name: str
    result: str
    title: str
    panels: tuple[tuple[str, str, str], ...]

    def draw(self, folder):
        result = bench_result(self.result)
        panels = [
            (title, bench_svg.chosen(result, "rate", experiment=experiment, series=series))
            for title, experiment, series in self.panels
        ]
        return bench_svg.curves(self.title, panels)


@dataclasses.dataclass(frozen=True)
class Bars:
    """The times of some ways in some cases of an experiment, from a result of `turnpike bench`."""

    name: str
    result: str
    title: str
    unit: str
    experiment: str
    cases: tuple[str, ...]
    ways: tuple[str, ...]

    def draw(self, folder):
        return bench_svg.bars(self.title, self.unit, [(case, self.rows(case)) for case in self.cases])

    def rows(self, case):
        result = bench_result(self.result)
        return [
            row
            for way in self.ways
            for row in bench_svg.chosen(result, "time", experiment=self.experiment, case=case, way=way, unit=self.unit)
        ]


PICTURES = (
    Terminal("item", "turnpike report train.tpk", ("VERDICT", "WHERE A STEP GOES", "WHAT TO DO")),
    Terminal("findings", "turnpike report before.tpk", ("WHAT TO DO",)),
    Terminal("transfers", "turnpike report before.tpk --top 4", ("TRANSFERS BY LINE", "SYNCHRONISATIONS BY LINE")),
    Terminal("diff", "turnpike diff before.tpk after.tpk", ("TURNPIKE DIFF", "VERDICT", "TRANSFERS PER STEP")),
    Terminal("check", "turnpike check mnist.tpk --budget budget.toml"),
    Timeline("timeline", (("train_before.py", "before.tpk"), ("train_after.py", "after.tpk")), 50),
    Curves(
        "bench_rates",
        "move-h100.json",
        "How fast tensors of each size reach the GPU and come back",
        (
            ("Pageable tensors to the GPU", "to", "pageable"),
            ("Results into fresh memory", "d2h", "into fresh memory"),
        ),
    ),
    Bars(
        "bench_prefetch",
        "move-h100.json",
        "A training step over pageable batches",
        "ms",
        "prefetch",
        ("compute = transfer", "compute = 2 x transfer", "compute = half the transfer", "all CPU cores busy"),
        (".to in the loop", "pin thread + non_blocking", "Turnpike prefetch", "the longer of both"),
    ),
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
