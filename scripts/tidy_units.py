"""What clang-tidy looks at (scripts/test, suite tidy): several sources one after another in one file, because most of
the time of a source by itself goes into its headers. They may be of several targets that are compiled alike.

The static analyzer follows a call into a function of the same file, and then does not look at that function by itself,
for any argument. So sources of which one calls the other are never put together: each function is looked at as it is
where its source is compiled alone. What only a source by itself shows is found here: a header that it lacks, and a name
that it takes from elsewhere and does not use.
"""

import bisect
import collections
import dataclasses
import json
import pathlib
import re
import shlex

INCLUDED = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
# The first line of a function's definition, at the beginning of a line, where clang-format puts it.
DEFINED = re.compile(r"^[A-Za-z_][^\n;=#]*\(", re.MULTILINE)
# What a header defines, or only names for itself.
TYPE = re.compile(r"^(\s*)(?:(?:struct|class|enum class|enum) (?:alignas\(\w+\) )?(\w+)\b|using (\w+) =)", re.MULTILINE)
TYPENAME = re.compile(r"\btypename (\w+)")
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
UNQUALIFIED = re.compile(r"(?<![\w.:])\w+")
DECLARED = re.compile(r"\b(\w+)\(")
WORD = re.compile(r"\w+")
TAKEN = re.compile(r"^\s*using [\w:]*::(\w+); *$|^\s*namespace (\w+) = .*; *$", re.MULTILINE)
NAMESPACE = re.compile(r"^namespace ([\w:]+) {", re.MULTILINE)
COMMENT = re.compile(r"//.*$", re.MULTILINE)
PLACE = re.compile(r"^(\S+\.cpp):(\d+)(?=:\d+: )", re.MULTILINE)


# Lines per unit. Small units keep all processors busy until the suite ends.
LINES_OF_A_UNIT = 2000


@dataclasses.dataclass
class Unit:
    """Sources that are looked at together."""

    sources: list
    file: pathlib.Path  # the source itself, if it is the only one
    not_included: list = dataclasses.field(default_factory=list)  # a sentence for each header that another one includes


def without_comments(text):
    return COMMENT.sub("", text)


class Source:
    """What a source defines for others, and what it may call of theirs."""

    def __init__(self, path, headers, compiled_with):
        self.path = path
        self.compiled_with = compiled_with  # the file that TURNPIKE_UNITY made of it and others
        text = without_comments(path.read_text())
        self.lines = text.count("\n")
        found = NAMESPACE.search(text)
        self.namespace = found and found[1]
        self.included = included = headers.all_included(text)
        self.words = set(WORD.findall(text))
        own_types = {"".join(pair) for _, *pair in TYPE.findall(text)} | set(TYPENAME.findall(text))
        self.types_of_others = set(UNQUALIFIED.findall(STRING.sub("", text))) - own_types
        defined = DECLARED.findall("\n".join(DEFINED.findall(text)))
        # What no header declares is called by nobody else.
        self.declared = {(name, header) for name in defined for header in included & headers.that_declare[name]}
        self.may_call = {(word, header) for word in self.words for header in included & headers.that_declare[word]}

    def calls_or_is_called_by(self, other):
        return bool(self.may_call & other.declared or other.may_call & self.declared)

    def may_share_names_with(self, other):
        """Of one namespace, only those that are compiled together are known to define different names."""
        return self.namespace == other.namespace and self.compiled_with != other.compiled_with


class Headers:
    """Of src/."""

    def __init__(self, folder):
        self.included = {}
        self.with_type = collections.defaultdict(set)
        self.with_type_of_namespace = collections.defaultdict(set)  # not of a class
        self.that_declare = collections.defaultdict(set)
        for path in folder.rglob("*.h"):
            text = without_comments(path.read_text())
            header = str(path.relative_to(folder))
            self.included[header] = INCLUDED.findall(text)
            for name in DECLARED.findall(text):
                self.that_declare[name].add(header)
            for indent, *pair in TYPE.findall(text):
                name = "".join(pair)
                self.with_type[name].add(header)
                if not indent.strip("\n"):
                    self.with_type_of_namespace[name].add(header)

    def all_included(self, text):
        """By a source, also through others."""
        found, left = set(), INCLUDED.findall(text)
        while left:
            header = left.pop()
            if header not in found:
                found.add(header)
                left += self.included.get(header, [])
        return found


def apart(sources):
    """Sources in as few lists as a first fit finds, so that none of a list calls another of it."""
    lists = []
    for source in sources:
        fitting = (
            others
            for others in lists
            if source.lines + sum(other.lines for other in others) <= LINES_OF_A_UNIT
            and not any(source.calls_or_is_called_by(other) or source.may_share_names_with(other) for other in others)
        )
        others = next(fitting, None)
        if others is None:
            lists.append(others := [])
        others.append(source)
    return lists


def flags_of(entry):
    """All of an entry's command but its files."""
    words = shlex.split(entry["command"])
    files = {index + 1 for index, word in enumerate(words) if word in ("-o", "-MF", "-MT")}
    return tuple(word for index, word in enumerate(words) if index not in files and word != entry["file"])


def not_included(together, headers):
    """A compiler of several sources does not say that one lacks a header which another one includes."""
    of_all = set().union(*(source.included for source in together))
    return [
        f"{source.path}: {word} is of {' or '.join(sorted(found))}, which this source does not include"
        for source in together
        for word in sorted(source.types_of_others)
        if (found := headers.with_type_of_namespace.get(word, set())) & of_all
        and not headers.with_type[word] & source.included
    ]


def sources_of(entry, root):
    """The sources of src/ in an entry of a compilation database: a build with TURNPIKE_UNITY includes several."""
    file = pathlib.Path(entry["file"])
    if file.is_relative_to(root / "src"):
        return [file]
    if not (file.name.startswith("unity_") and file.suffix == ".cxx"):
        return []
    # What the build itself generates is not of src/.
    return [path for path in map(pathlib.Path, INCLUDED.findall(file.read_text())) if path.is_relative_to(root / "src")]


def write_units(build, folder, root):
    """Writes the units of a folder that was configured with TURNPIKE_UNITY, and their compilation database."""
    folder.mkdir(parents=True, exist_ok=True)
    headers = Headers(root / "src")
    alike, seen = collections.defaultdict(list), set()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        sources = [source for source in sources_of(entry, root) if source not in seen]
        seen.update(sources)
        alike[flags_of(entry)] += [(Source(path, headers, entry["file"]), entry) for path in sources]
    units, entries = [], []
    for sources in alike.values():
        entry_of = {source.path: entry for source, entry in sources}
        for together in apart([source for source, _ in sources]):
            paths = [source.path for source in together]
            file = paths[0]
            if len(paths) > 1:
                file = folder / f"{file.relative_to(root / 'src').with_suffix('')}_and_others.cpp".replace("/", "-")
                file.write_text("".join(path.read_text() for path in paths))
            units.append(Unit(paths, file, not_included(together, headers)))
            # Those of the sources, too, for who looks at one by hand.
            for path in dict.fromkeys([file, *paths]):
                entry = entry_of.get(path, entry_of[paths[0]])
                command = entry["command"].replace(entry["file"], str(path))
                entries.append({**entry, "file": str(path), "command": command})
    (folder / "compile_commands.json").write_text(json.dumps(entries, indent=1))
    return units


def with_places_of_sources(unit, output):
    """What was said of the unit's file, said of its sources."""
    if len(unit.sources) == 1:
        return output
    starts, line = [], 1
    for source in unit.sources:
        starts.append(line)
        line += source.read_text().count("\n")

    def place(found):
        if found[1] != str(unit.file):
            return found[0]
        number = bisect.bisect_right(starts, int(found[2])) - 1
        return f"{unit.sources[number]}:{int(found[2]) - starts[number] + 1}"

    return PLACE.sub(place, output)


def unused_names(source):
    """What a source takes from other namespaces and does not name again. clang-tidy says so, too, but not if another
    source of the unit names it."""
    text = without_comments(source.read_text())
    named = set(WORD.findall(TAKEN.sub("", text)))
    return [found for pair in TAKEN.findall(text) for found in pair if found and found not in named]
