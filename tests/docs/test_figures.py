"""Each measured number in the pages stands in its result file, or says why it has none."""

import pytest
import tomllib
from documentation import blocks, cost_table, figures, golden, losing_table, numbers

RESULT = {
    "date": "2026-11-22T15:59:42Z",
    "rows": [
        {"case": "1 GiB", "way": "Turnpike", "value": 49.08, "spread": [47.0, 51.26], "target": None},
        {"case": "1 GiB", "way": "Turnpike", "value": 0.89, "spread": None, "target": 0.92},
        {"case": "1 GiB", "way": ".to", "value": 8.91, "spread": None, "target": None},
    ],
}
PAGE = """\
# Moves

<!-- measured: move-h100.json -->

Measured: `move-h100.json` on 2026-11-22. The code has not changed since.

It uploads
at 49.1 GB/s (47.0 to 51.3), and `.to()` at 8.9 GB/s.
"""
FIGURE = {
    "file": "move-h100.json",
    "where": {"case": "1 GiB"},
    "words": "It uploads at {} GB/s ({} to {}), and `.to()` at {} GB/s",
    "values": ["ci(way='Turnpike')", "at(way='.to')"],
}


def mistakes(text, **entry):
    return figures.page_mistakes(text, entry, result_of=lambda name: RESULT, root=golden.ROOT)


def test_every_number_in_the_pages_is_what_its_result_file_says():
    assert figures.mistakes() == []


def test_what_is_written_from_result_files_is_what_they_say_now():
    # Whether code has changed since is test_measured's: only git knows that.
    assert [str(page.relative_to(golden.ROOT)) for page in figures.stale(None)] == []


def test_right_numbers_are_no_mistake():
    assert mistakes(PAGE, figure=[FIGURE]) == []


def test_a_wrong_number_is_named_with_words_file_and_value():
    (wrong,) = mistakes(PAGE.replace("49.1", "46.0"), figure=[FIGURE])
    assert wrong.startswith("It uploads at 46.0 GB/s (47.0 to 51.3)")
    assert wrong.endswith(": 46.0 is 49.08 in move-h100.json")


def test_a_number_is_compared_as_it_is_rounded():
    assert mistakes(PAGE.replace("8.9 GB", "9 GB"), figure=[FIGURE]) == []
    assert mistakes(PAGE.replace("8.9 GB", "8.90 GB"), figure=[FIGURE])[0].endswith("8.90 is 8.91 in move-h100.json")


def test_a_missing_row_is_named():
    (wrong,) = mistakes(PAGE, figure=[{**FIGURE, "values": ["ci(way='Turnpike')", "at(way='by hand')"]}])
    assert "move-h100.json: ValueError: 0 rows have {'case': '1 GiB', 'way': 'by hand'}" in wrong


def test_a_missing_file_is_named():
    def nothing(name):
        raise FileNotFoundError(name)

    (wrong,) = figures.page_mistakes(PAGE, {"figure": [FIGURE]}, result_of=nothing)
    assert wrong.endswith("move-h100.json: FileNotFoundError: move-h100.json")


def test_words_that_no_longer_stand_in_the_page_are_named_and_their_numbers_uncovered():
    wrong = mistakes(PAGE.replace("It uploads", "Turnpike uploads"), figure=[FIGURE])
    assert wrong[0].startswith("these words stand in it 0 times, not once: It uploads at {} GB/s")
    assert len(wrong) == 5


def test_words_that_stand_twice_are_a_mistake():
    text = PAGE + PAGE[PAGE.index("It uploads") :]
    assert "stand in it 2 times" in mistakes(text, figure=[FIGURE])[0]


def test_a_number_without_an_entry_is_named():
    (wrong,) = mistakes(PAGE + "\nA step takes 12 ms.\n", figure=[FIGURE])
    assert wrong.startswith("bench/figures does not say where this number is from:")
    assert "A step takes [12] ms." in wrong


def test_a_page_that_quotes_a_file_must_give_its_date():
    assert mistakes(PAGE[PAGE.index("It uploads") :], figure=[FIGURE]) == [
        "no comment <!-- measured: move-h100.json --> gives its date"
    ]


def test_a_number_of_values_other_than_that_of_the_words_is_a_mistake():
    assert "4 numbers, and 3 values" in mistakes(PAGE, figure=[{**FIGURE, "values": FIGURE["values"][:1]}])[0]


def test_an_entry_to_fill_in_has_words_that_stand_in_the_page_once(tmp_path, monkeypatch):
    text = "A step takes 12 ms here. A step takes 12 ms there.\n\n| a | b |\n|---|---|\n| c | 5 % |\n"
    monkeypatch.setattr(figures.pages, "pages", lambda root: [tmp_path / "page.md"])
    (tmp_path / "page.md").write_text(text)
    found = figures.missing_entries(tmp_path)["page.md"]
    made = [{**tomllib.loads(one)["other"][0], "reason": "target"} for one in found]
    assert len(made) == 3
    assert mistakes(text, other=made) == []


@pytest.mark.parametrize(
    ("entry", "wrong"),
    [
        ({"reason": "target"}, None),
        ({"reason": "because"}, "the reason must be one of target, definition, example, hardware, experiment"),
        ({}, "the reason must be one of"),
        ({"reason": "experiment"}, "said is missing"),
        ({"reason": "experiment", "said": "not kept"}, None),
        ({"reason": "experiment", "said": "lost"}, "the page does not say: lost"),
        ({"reason": "hardware"}, "source is missing"),
        ({"reason": "example", "of": "examples/none.tpk"}, "there is no examples/none.tpk"),
        ({"reason": "definition", "code": "VERSION", "text": "no such text"}, "VERSION does not say no such text"),
        ({"reason": "definition", "code": "scripts/docs", "text": "set -euo pipefail"}, None),
        ({"reason": "definition", "code": "src/record", "text": "kTurnNs = 15000000;"}, None),
    ],
)
def test_a_number_without_a_file_has_a_reason(entry, wrong):
    found = mistakes("A trial, not kept, took 12 ms.\n", other=[{"words": "took 12 ms", **entry}])
    assert found == [] if wrong is None else len(found) == 1 and wrong in found[0]


TABLE = "| way | GB/s | |\n|---|---|---|\n| Turnpike | 49.1 (47.0-51.3) | fast |\n| `.to` | 8.9 | |\n\nEnd.\n"
COLUMNS = {"file": "move-h100.json", "head": "| way | GB/s |", "names": {}}


def test_a_table_is_checked_row_by_row():
    entry = {**COLUMNS, "columns": ["ci(case='1 GiB', way=name) if '(' in cell else at(case='1 GiB', way=name)", ""]}
    head = PAGE[: PAGE.index("It uploads")]
    assert mistakes(head + TABLE, table=[entry]) == []
    assert mistakes(head + TABLE.replace("8.9", "9.9"), table=[entry]) == ["row .to: 9.9 is 8.91 in move-h100.json"]
    renamed = mistakes(head + TABLE.replace("`.to`", "`.cpu`"), table=[entry])
    assert renamed[0].startswith("row .cpu: move-h100.json: ValueError: 0 rows")
    assert "head of a table" not in renamed[0]


def test_a_whole_table_may_have_a_reason():
    entry = {"table": "| way | GB/s |", "reason": "target"}
    assert mistakes(TABLE, other=[entry]) == []
    assert len(mistakes(TABLE)) == 4


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("5 % of 20 steps", ["5"]),
        ("1.06 to 1.25 times as long", ["1.06", "1.25"]),
        ("5.0, 6 and 7 ms; 8 msec", ["5.0", "6", "7"]),
        ("ratios of 1.12 (1.07-1.22), 1.1 (1 to 2)", ["1.12", "1.07", "1.22", "1.1", "1", "2"]),
        ("-4 % (-13 to 10)", ["-4", "-13", "10"]),
        ("1,024 MB/s", ["1,024"]),
        ("Python 3.10 to 3.15, CUDA 13.0, 64 MiB, 2^10 s, `12 ms`, H100 s", []),
        ("a\n\n```\n12 ms\n```\n\n<!-- 13 ms -->\nb", []),
        ("| 1.5 | 0.92 | 17 |\n|---|---|---|\n| 2.5 | 3 | 4.5 |", ["1.5", "0.92", "2.5", "4.5"]),
    ],
)
def test_which_numbers_are_measured(text, found):
    line = numbers.in_one_line(text)
    assert [line[start:end] for start, end in numbers.measured(line)] == found


def cost_row(case, value, spread, metric=cost_table.STEADY, **more):
    return {"case": case, "metric": metric, "value": value, "spread": spread, "processes_apart": 0.02, **more}


COST = [
    # As bench/cost writes them: the median over pairs.
    cost_row("mnist_64, full", 1.12, [1.07, 1.22], step_us=1996.8, is_decided=False, pairs=[1.07, 1.22]),
    cost_row("mnist_64, bare CUPTI, full", 1.11, [1.08, 1.191], step_us=1996.8),
    cost_row("mnist_64, full", 1.01, None, metric=cost_table.OVER_FLOOR, is_decided=False, pairs=[1.01]),
    cost_row("item_loop, full", 1.2, [1.1, 1.3], step_us=19.9),
    cost_row("mnist_64, transfers", 1.05, [1.02, 1.14], step_us=1996.8),
    cost_row("mnist_64, full", 0.4, [0, 1], metric="added until the tenth step"),
]


def test_the_table_of_costs_has_a_row_for_each_program():
    assert cost_table.table(COST, "full").splitlines()[2:] == [
        "| MNIST, 64 images | 2.0 ms | 1.11 (1.08-1.19) | 1.12 (1.07-1.22) | 1.01 | 2 % |",
        "| a loop of `.item()` | 20 us |  | 1.20 (1.10-1.30) |  | 2 % |",
    ]
    assert len(cost_table.table(COST, "transfers").splitlines()) == 3


def test_a_program_without_a_row_or_a_title_is_an_error():
    with pytest.raises(ValueError, match="no row or no title for nanogpt"):
        cost_table.table(COST, "full", ["nanogpt"])
    with pytest.raises(ValueError, match="no row or no title for new_program"):
        cost_table.table([*COST, cost_row("new_program, full", 1, None, step_us=1)], "full")


def bench_row(way, role, value, metric="time", target=None):
    return {
        "experiment": "to", "case": "1 GiB", "way": way, "role": role, "value": value, "metric": metric, "unit": "ms",
        "target": target,
    }  # fmt: skip


def test_the_table_of_losing_cases_has_each_way_that_is_slower_than_the_best_other():
    others = [bench_row(".to", "pytorch", 9.0), bench_row("by hand", "best", 4.0), bench_row("pinned", "bound", 1.0)]
    ours = [bench_row("Turnpike", "turnpike", 5.0), bench_row("Turnpike prefetch", "turnpike", 4.02)]
    repeated = bench_row("Turnpike", "turnpike", 5.0, target=1.02)
    assert losing_table.table([*others, *ours, repeated]).splitlines()[2:] == [
        "| `to` | 1 GiB | Turnpike | 5 ms | 4 (by hand) | 1.25 |"
    ]
    # Of a rate, less is slower.
    rates = [bench_row(".to", "pytorch", 9.0, "rate"), bench_row("Turnpike", "turnpike", 45.0, "rate")]
    assert len(losing_table.table(rates).splitlines()) == 2


def test_a_block_is_written_up_to_the_next_empty_line(monkeypatch):
    monkeypatch.setattr(blocks, "result", lambda name: {**RESULT, "rows": COST})
    text = "a\n\n<!-- cost: c.json full: item_loop -->\n\nold\nold\n\n<!-- measured: c.json -->\n\nold\n\nb\n"
    new = blocks.rewritten(text, "page.md", {"c.json"})
    assert "\n| a loop of `.item()` | 20 us |" in new and "old" not in new and new.endswith("\n\nb\n")
    assert "\n\nMeasured: `c.json` on 2026-11-22. The code has changed since.\n\nb\n" in new
    assert blocks.rewritten(new, "page.md", {"c.json"}) == new
    assert blocks.named(text) == {"c.json"}
    # Where git cannot say, sentences stay as they are.
    assert blocks.rewritten(text, "page.md", None).endswith("<!-- measured: c.json -->\n\nold\n\nb\n")
    with pytest.raises(ValueError, match=r"page\.md: cannot read this: <!-- cost: c\.json all -->"):
        blocks.rewritten("<!-- cost: c.json all -->\n\nold\n", "page.md", None)
