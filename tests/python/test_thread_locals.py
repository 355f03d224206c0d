"""The libraries inside the program have no thread_local variables that need a destructor.

Destructors of the program may run after those of such variables, and call CUDA or NVTX.
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("base", "cuda", "record", "guard")
DECLARED = re.compile(r"\bthread_local\s+([\w:]+(?:<[^;=]*>)?)\s*(\*?)\s*(\w+)\s*[;={]")
PLAIN = re.compile(r"(?:int|bool|(?:std::)?u?int\d+_t)$")
# Its destructor tells later calls of the thread that its variables are gone.
TELLS_ITS_END = "OwnFound"


def declarations(text):
    return [match.groups() for match in DECLARED.finditer(text)]


def needs_destructor(kind, star, text):
    return not (star or PLAIN.match(kind) or f"static_assert(std::is_trivially_destructible_v<{kind}>)" in text)


def test_variables_of_threads_need_no_destructor():
    found, wrong = 0, []
    for folder in FOLDERS:
        for path in sorted((ROOT / "src" / folder).rglob("*.[ch]*")):
            text = path.read_text()
            declared = declarations(text)
            lines = [line for line in text.splitlines() if re.search(r"\bthread_local\b", line.split("//")[0])]
            assert len(declared) == len(lines), f"{path}: not every thread_local is understood: {lines}"
            found += len(declared)
            for kind, star, name in declared:
                if kind != TELLS_ITS_END and needs_destructor(kind, star, text):
                    wrong.append(f"{path.relative_to(ROOT)}: {name} is a {kind}")
    assert found > 5
    assert wrong == [], "say static_assert(std::is_trivially_destructible_v<...>) beside it"


def test_those_with_a_destructor_are_found():
    for line, expected in (
        ("thread_local std::string t_text;", True),
        ("thread_local std::vector<int> t_all;", True),
        ("thread_local Place t_place;", True),
        ("thread_local ThreadBuffer* t_buffer = nullptr;", False),
        ("constinit thread_local std::uint32_t t_count = 0;", False),
    ):
        ((kind, star, _),) = declarations(line)
        assert needs_destructor(kind, star, line) == expected, line
