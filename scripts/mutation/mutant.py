"""A mutant: one small mistake in one place of a source. Its name stays the same while its line and its file's do."""

import collections
import dataclasses
import hashlib


@dataclasses.dataclass(frozen=True)
class Mutant:
    path: str  # below the root of the checkout
    line: int
    start: int  # what it replaces: offsets into the bytes of the file
    end: int
    operator: str
    original: str
    mutated: str
    # How it stands beside the original: "value" (an expression), "truth" (an expression that is converted to bool),
    # "effect" (an expression whose value nobody takes), "statement" (of Python).
    form: str = "value"
    is_constant: bool = False  # in a function that the compiler may run
    name: str = ""


def named(mutants, text):
    """The mutants of one file, in its order, each with its name.

    That is a hash of the first two folders, the file's name, the operator, the line's text and its place among those
    that share these: a file that moves within them keeps the names of its mutants.
    """
    lines = text.split(b"\n")
    seen = collections.Counter()
    result = []
    for mutant in sorted(set(mutants), key=lambda one: (one.start, -one.end, one.operator, one.mutated)):
        parts = mutant.path.split("/")
        key = (
            "/".join(parts[: min(2, len(parts) - 1)]),
            parts[-1],
            mutant.operator,
            lines[mutant.line - 1].strip().decode(errors="replace"),
        )
        seen[key] += 1
        digest = hashlib.sha256("\0".join((*key, str(seen[key]))).encode()).hexdigest()[:10]
        result.append(dataclasses.replace(mutant, name=digest))
    return result


def with_all(text, numbered, write):
    """`text` with every mutant of `numbered` (pairs of number and Mutant) in it, chosen when the program runs.

    `write(pairs, original)` gives the text that stands for one span: `pairs` are its mutants, `original` is the span
    with the mutants inside it already written.
    """
    spans = collections.defaultdict(list)
    for number, mutant in numbered:
        spans[(mutant.start, mutant.end)].append((number, mutant))
    pending = sorted(spans, key=lambda span: (span[0], -span[1]))

    def between(start, end):
        parts, at = [], start
        while pending and pending[0][0] < end:
            span = pending.pop(0)
            if span[1] > end:
                raise ValueError(f"spans overlap: {span} and {(start, end)}")
            inside = between(*span)
            parts += [text[at : span[0]], write(spans[span], inside)]
            at = span[1]
        return b"".join([*parts, text[at:end]])

    return between(0, len(text))
