"""clang-tidy finds in several sources at once what it finds in each by itself (scripts/tidy_units.py)."""

import importlib.util
import json
import pathlib
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "tidy_units.py"


@pytest.fixture(scope="module")
def tidy_units():
    spec = importlib.util.spec_from_file_location("tidy_units_under_test", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass looks itself up there
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules[spec.name]


HEADERS = {
    "a/one.h": "int one_of(int given);\nstruct One {\n  struct Part {};\n};\n",
    "a/two.h": '#include "a/one.h"\nclass Two {\n  Two();\n  int size() const;\n};\n',
    "a/three.h": "std::function<void(int)> three_of(int given);\n",
}
SOURCES = {
    "a/one.cpp": '#include "a/one.h"\n\nint one_of(int given) {\n  return given;\n}\n',
    "a/two.cpp": '#include "a/two.h"\n\nTwo::Two() = default;\nint Two::size() const {\n  return 2;\n}\n',
    "a/three.cpp": '#include "a/three.h"\n\nstd::function<void(int)> three_of(int given) {\n  return {};\n}\n',
}


def units_of(tidy_units, root, sources, *other_targets):
    """The units of a target whose sources these are, and of others: of each its sources and its flags."""
    (root / "build").mkdir()
    entries = []
    for number, (of_target, flags) in enumerate([(sources, ""), *other_targets]):
        for name, text in {**HEADERS, **of_target}.items():
            file = root / "src" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        unity = root / "build" / str(number) / "unity_0_cxx.cxx"
        unity.parent.mkdir()
        generated = root / "build" / "generated.cpp"
        unity.write_text(
            "".join(f'#include "{file}"\n' for file in [generated, *(root / "src" / name for name in of_target)])
        )
        command = f"c++ {flags} -MF {number}.d -o {number}.o -c {unity}"
        entries.append({"directory": str(root), "file": str(unity), "command": command})
    (root / "build" / "compile_commands.json").write_text(json.dumps(entries))
    return tidy_units.write_units(root / "build", root / "build" / "units", root)


def names(units, root):
    return [[str(source.relative_to(root / "src")) for source in unit.sources] for unit in units]


def test_sources_that_do_not_call_each_other_are_together(tidy_units, tmp_path):
    units = units_of(tidy_units, tmp_path, SOURCES)
    assert names(units, tmp_path) == [["a/one.cpp", "a/two.cpp", "a/three.cpp"]]
    assert units[0].file.read_text() == "".join(SOURCES.values())
    commands = json.loads((tmp_path / "build" / "units" / "compile_commands.json").read_text())
    # The sources themselves are there for who looks at one.
    files = [units[0].file, *units[0].sources]
    assert {entry["command"] for entry in commands} == {f"c++  -MF 0.d -o 0.o -c {file}" for file in files}


@pytest.mark.parametrize(
    ("header", "call", "alone_with"),
    [
        ("a/one.h", "one_of(3)", "a/one.cpp"),
        ("a/two.h", "one_of(3)", "a/one.cpp"),  # included by the header
        ("a/two.h", "two.size()", "a/two.cpp"),
        ("a/two.h", "Two{}", "a/two.cpp"),
        ("a/three.h", "std::ranges::transform(all, three_of)", "a/three.cpp"),
    ],
)
def test_a_source_is_not_together_with_one_that_it_calls(tidy_units, tmp_path, header, call, alone_with):
    caller = f'#include "{header}"\n\nint caller(int given) {{\n  return {call};\n}}\n'
    units = names(units_of(tidy_units, tmp_path, {"a/caller.cpp": caller, **SOURCES}), tmp_path)
    together = next(unit for unit in units if "a/caller.cpp" in unit)
    assert alone_with not in together
    assert sorted(sum(units, [])) == sorted(["a/caller.cpp", *SOURCES])
    assert len(units) == 2


ELSEWHERE = "namespace turnpike::b {\nint kept = 1;\n}\n"


@pytest.mark.parametrize(
    ("text", "flags", "is_together"),
    [
        (ELSEWHERE, "", True),
        (ELSEWHERE, "-DOTHER", False),
        (ELSEWHERE.replace("::b", "::a"), "", False),  # it may define what a source of the other target does
        ('#include "a/one.h"\n' + ELSEWHERE.replace("1", "one_of(1)"), "", False),
    ],
    ids=["alike", "other flags", "of one namespace", "a call"],
)
def test_sources_of_targets_that_are_compiled_alike_are_together(tidy_units, tmp_path, text, flags, is_together):
    one = {"a/one.cpp": "namespace turnpike::a {\n" + SOURCES["a/one.cpp"] + "}\n"}
    units = names(units_of(tidy_units, tmp_path, one, ({"b/other.cpp": text}, flags)), tmp_path)
    assert units == ([["a/one.cpp", "b/other.cpp"]] if is_together else [["a/one.cpp"], ["b/other.cpp"]])


def test_a_unit_does_not_grow_without_end(tidy_units, tmp_path):
    long = {f"a/long_{number}.cpp": "// a line\n" * (tidy_units.LINES_OF_A_UNIT // 2) for number in range(3)}
    units = names(units_of(tidy_units, tmp_path, long), tmp_path)
    assert units == [["a/long_0.cpp", "a/long_1.cpp"], ["a/long_2.cpp"]]


def test_what_is_said_of_a_unit_is_said_of_its_sources(tidy_units, tmp_path):
    [unit] = units_of(tidy_units, tmp_path, SOURCES)
    one, two, three = unit.sources
    said = "\n".join(
        [f"{unit.file}:{line}:7: error: bad" for line in (1, 5, 6, 11, 12, 16)] + ["/usr/include/a.cpp:7:1: note: here"]
    )
    assert tidy_units.with_places_of_sources(unit, said).splitlines() == [
        f"{one}:1:7: error: bad",
        f"{one}:5:7: error: bad",
        f"{two}:1:7: error: bad",
        f"{two}:6:7: error: bad",
        f"{three}:1:7: error: bad",
        f"{three}:5:7: error: bad",
        "/usr/include/a.cpp:7:1: note: here",
    ]


@pytest.mark.parametrize(
    ("text", "is_lacking"),
    [
        ("int size(const One& one);", True),
        ("struct One;\nint size(const One& one);", False),  # named here
        ("int size(const other::One& one);", False),  # another one
        ("int size(const Part& part);", False),  # of a class
        ('const char* kText = "One";  // One', False),
        ("template <typename One>\nint size(const One& one);", False),
        ("struct alignas(64) One {};\nint size(const One& one);", False),
    ],
)
def test_a_header_that_another_source_of_the_unit_includes_is_missed(tidy_units, tmp_path, text, is_lacking):
    [unit] = units_of(tidy_units, tmp_path, {"a/lacking.cpp": text + "\n", **SOURCES})
    expected = f"{tmp_path}/src/a/lacking.cpp: One is of a/one.h, which this source does not include"
    assert unit.not_included == ([expected] if is_lacking else [])


def test_a_name_that_is_taken_and_not_used_is_found_in_each_source(tidy_units, tmp_path):
    source = tmp_path / "a.cpp"
    source.write_text(
        "using analyze::Kept;\nusing analyze::Left;  // Left\nnamespace fs = std::filesystem;\nnamespace ct = a::b;\n\n"
        "void print(const Kept& kept) {\n  using std::swap;\n  using std::move;\n  swap(kept, fs::path());\n}\n"
    )
    assert tidy_units.unused_names(source) == ["Left", "ct", "move"]
