"""Compares the entries of bench/figures with a page: what is wrong, and which numbers of the page they cover."""

import functools
import re

from . import numbers
from .result_values import ERRORS, Result, is_shown_as

# Each names the keys that an entry of it must have.
REASONS = {
    "target": (),  # what we want, not what is
    # a constant, a limit, a setting, a threshold. code: a file or a folder, text: what it says of it
    "definition": (),
    "example": ("of",),  # output or arithmetic of an example; of: the recording, or "none" for made-up numbers
    "hardware": ("source",),  # from a data sheet or documentation
    "experiment": ("said",),  # measured and not kept; said: the words of the page that say so
}
CELL_NUMBER = rf"(?<![\w.,])-?{numbers.PLAIN}|(?<=\+){numbers.PLAIN}"


def pattern(words):
    """Finds these words, with any white space between them and any number for each {}."""
    literal = [r"\s+".join(map(re.escape, re.split(r"\s+", part))) for part in words.strip().split("{}")]
    return re.compile(f"(-?{numbers.PLAIN})".join(literal))


def only(words, line):
    """Where these words stand in a page; they must do so once."""
    found = list(pattern(words).finditer(line))
    if len(found) != 1:
        raise ValueError(f"these words stand in it {len(found)} times, not once: {words}")
    return found[0]


def figure_mistakes(entry, line, result_of):
    """What is wrong with a figure of a page, and where its numbers stand."""
    try:
        found = only(entry["words"], line)
    except ValueError as error:
        return [str(error)], []
    spans = [found.span(group + 1) for group in range(found.re.groups)]
    try:
        values = Result(result_of(entry["file"]), entry.get("where")).values(entry["values"])
    except ERRORS as error:
        return [f"{entry['words']}: {entry['file']}: {type(error).__name__}: {error}"], spans
    if len(values) != len(spans):
        return [f"{entry['words']}: {len(spans)} numbers, and {len(values)} values of {entry['file']}"], spans
    return [
        f"{found[0]}: {text} is {value if value is None else f'{value:.6g}'} in {entry['file']}"
        for text, value in zip(found.groups(), values, strict=True)
        if not is_shown_as(value, text)
    ], spans


def table_rows(head, line):
    """The rows below the head of a table, as lists of (cell, start)."""
    rows, start = [], line.index("\n", only(head, line).start()) + 1
    for text in line[start:].split("\n"):
        if not text.startswith("|"):
            break
        cells = [(cell[0], start + cell.start()) for cell in re.finditer(r"[^|]+", text.rpartition("|")[0])]
        rows.append(cells)
        start += len(text) + 1
    return rows[1:]


def table_mistakes(entry, line, result_of):
    """What is wrong with a table whose rows are alike, and where its numbers stand."""
    try:
        rows, result = table_rows(entry["head"], line), Result(result_of(entry["file"]), entry.get("where"))
    except (ValueError, OSError) as error:
        return [str(error)], []
    wrong, spans = [], []
    for (first, _), *cells in rows:
        row = {"name": entry.get("names", {}).get(first.strip(), first.strip(" `"))}
        row["cells"] = [cell.strip(" `") for cell, _ in cells]
        for (cell, start), expression in zip(cells, entry["columns"], strict=True):
            found = list(re.finditer(CELL_NUMBER, cell)) if expression else []
            spans += [(start + one.start(), start + one.end()) for one in found]
            if found and expression != "name":
                texts = [one[0] for one in found]
                wrong += cell_mistakes(result, expression, texts, {**row, "cell": cell.strip()}, entry["file"])
    return wrong, spans


def cell_mistakes(result, expression, texts, row, file):
    try:
        values = result.values([expression], **row)
    except ERRORS as error:
        return [f"row {row['name']}: {file}: {type(error).__name__}: {error}"]
    if len(values) == len(texts) and all(map(is_shown_as, values, texts)):
        return []
    exact = ", ".join("null" if value is None else f"{value:.6g}" for value in values)
    return [f"row {row['name']}: {row['cell']} is {exact} in {file}"]


def other_mistakes(entry, line, root):
    """The mistakes in the entry of a number without a result file, and the position of the number."""
    try:
        spans = places_of(entry, line)
    except ValueError as error:
        return [str(error)], []
    words = entry.get("words") or entry["table"]
    if entry.get("reason") not in REASONS:
        return [f"{words}: the reason must be one of {', '.join(REASONS)}"], spans
    wrong = [f"{words}: {key} is missing" for key in REASONS[entry["reason"]] if key not in entry]
    if "said" in entry and not pattern(entry["said"]).search(line):
        wrong.append(f"the page does not say: {entry['said']}")
    if entry.get("of", "none") != "none" and not (root / entry["of"]).exists():
        wrong.append(f"{words}: there is no {entry['of']}")
    if "code" in entry and not says(root / entry["code"], entry["text"]):
        wrong.append(f"{words}: {entry['code']} does not say {entry['text']}")
    return wrong, spans


def says(place, text):
    """Whether a file, or one of a folder, has this text. How digits are grouped does not count: 1'000 is 1000."""
    return text.replace("'", "") in source(place)


@functools.cache
def source(place):
    files = sorted(place.rglob("*")) if place.is_dir() else [place]
    return "\n".join(file.read_text().replace("'", "") for file in files if file.is_file())


def places_of(entry, line):
    if "table" in entry:
        return [(start, start + len(cell)) for row in table_rows(entry["table"], line) for cell, start in row]
    return [only(entry["words"], line).span()]
