"""scripts/check_includes: what it refuses and lets pass; the tree passes; docs/architecture.md has the same table."""

import pathlib
import re
import runpy
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "check_includes"


def check(root):
    return subprocess.run([sys.executable, str(SCRIPT), str(root)], capture_output=True, text=True)


def tree(tmp_path, folder, text):
    (tmp_path / "src" / folder).mkdir(parents=True)
    (tmp_path / "src" / folder / "file.cpp").write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("folder", "line", "why"),
    [
        ("base", '#include "trace/format.h"', "base may not include trace"),
        ("trace", '#include "cuda/cupti.h"', "trace may not include cuda"),
        ("cuda", '#include "trace/reader.h"', "cuda may include of trace only"),
        ("record", '#include "trace/reader.h"', "record may include of trace only"),
        ("record/stacks", '#include "record/observe/api_observer.h"', "record/stacks may not include record/observe"),
        ("record/observe", '#include "record/recorder.h"', "record/observe may include of record only options.h"),
        ("ingest/nsys", '#include "ingest/kineto/names.h"', "ingest/nsys may not include ingest/kineto"),
        ("record", '#include "analyze/report.h"', "record may not include analyze"),
        ("analyze", '#include "cuda/cupti.h"', "analyze may not include cuda"),
        ("analyze", '#include "trace/writer.h"', "analyze may include of trace only"),
        ("analyze/model", '#include "analyze/graph/graph.h"', "analyze/model may not include analyze/graph"),
        ("analyze/model", '#include "analyze/analyze.h"', "analyze/model may include of analyze only report.h"),
        ("analyze/compare", '#include "trace/format.h"', "analyze/compare may not include trace"),
        ("report/text", '#include "trace/writer.h"', "report/text may include of trace only losses.h"),
        ("report/text", '#include "report/json/json.h"', "report/text may not include report/json"),
        ("move", '#include "record/session.h"', "move may not include record"),
        ("cli", '#include "record/injection.h"', "cli may include of record only"),
        ("python", '#include "cuda/cupti.h"', "python may not include cuda"),
        ("record", "#include <cupti.h>", "only src/cuda includes headers"),
        ("record", "  #  include <cuda_runtime_api.h>", "only src/cuda includes headers"),
        ("trace", "#include <nvtx3/nvToolsExt.h>", "only src/cuda includes headers"),
        ("base", '#include "result.h"', "include from the root"),
        ("base", '#include "nowhere/file.h"', "no folder of the house"),
        ("cli", '#include "analyze/nowhere/file.h"', "no folder of the house"),
        ("helpers", "", "not in the table"),
        ("report", "", "not in the table"),
        ("analyze/helpers", "", "not in the table"),
    ],
)
def test_refuses(tmp_path, folder, line, why):
    result = check(tree(tmp_path, folder, f"// A file.\n{line}\n"))
    assert result.returncode == 1
    assert why in result.stdout
    if line:
        assert f"src/{folder}/file.cpp:2:" in result.stdout


@pytest.mark.parametrize(
    ("folder", "line"),
    [
        ("record/collect", '#include "trace/writer.h"'),
        ("record", '#include "cuda/cupti.h"'),
        ("analyze", '#include "trace/process.h"'),
        ("analyze", '#include "analyze/graph/graph.h"'),
        ("analyze/model", '#include "analyze/report.h"'),
        ("cli", '#include "record/session.h"'),
        ("cli", '#include "analyze/compare/compare.h"'),
        ("cuda", "#include <cupti.h>"),
        ("base", "#include <cstdint>"),
        ("base", '// #include "trace/format.h"'),
    ],
)
def test_lets_pass(tmp_path, folder, line):
    assert check(tree(tmp_path, folder, line + "\n")).returncode == 0


def modules(tmp_path, **texts):
    for name, text in texts.items():
        file = tmp_path / "src" / "base" / name.replace("_dot_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def test_refuses_a_circle_of_headers(tmp_path):
    root = modules(
        tmp_path, a_dot_h='#include "base/b.h"\n', b_dot_h='\n#include "base/c.h"\n', c_dot_h='#include "base/a.h"\n'
    )
    result = check(root)
    assert result.returncode == 1
    assert "src/base/b.h:2: base/c: closes a circle of includes: base/a -> base/b -> base/c -> base/a" in result.stdout
    assert "1 breaches" in result.stdout


def test_counts_a_source_with_its_header(tmp_path):
    root = modules(
        tmp_path, a_dot_h='#include "base/b.h"\n', b_dot_h="", b_dot_cpp='#include "base/b.h"\n#include "base/a.h"\n'
    )
    result = check(root)
    assert result.returncode == 1
    assert "src/base/b.cpp:2: base/a: closes a circle of includes: base/a -> base/b -> base/a" in result.stdout


def test_lets_headers_pass_that_two_others_share(tmp_path):
    root = modules(
        tmp_path, a_dot_h='#include "base/b.h"\n#include "base/c.h"\n', b_dot_h='#include "base/c.h"\n', c_dot_h="",
        a_dot_cpp='#include "base/a.h"\n',
    )  # fmt: skip
    assert check(root).returncode == 0


def test_says_so_when_there_is_nothing_to_check(tmp_path):
    (tmp_path / "src").mkdir()
    assert check(tmp_path).returncode == 1


def test_this_tree_passes():
    result = check(ROOT)
    assert result.returncode == 0, result.stdout


def row_of(room, text, records):
    """A row of the page's table as the script has it."""
    row = {}
    if text == "nothing":
        return row
    for target, headers in re.findall(r"(`[a-z/]+`|its rooms)(?: \(([^)]*)\))?", text):
        names = set(re.findall(r"`([a-z_.]+)`", headers)) | (records if "records" in headers else set())
        row[room if target == "its rooms" else target.strip("`")] = names or "*"
    return row


def test_the_page_has_the_same_table():
    script = runpy.run_path(str(SCRIPT))
    page = (ROOT / "docs" / "architecture.md").read_text()
    table = page[page.index("| room | may include |") : page.index("\n\n", page.index("| room | may include |"))]
    rows = re.findall(r"^\| `([a-z/]+)` \| (.*) \|$", table, re.MULTILINE)
    assert len(rows) == len(table.splitlines()) - 2
    assert {room: row_of(room, text, script["RECORDS"]) for room, text in rows} == script["ALLOWED"]
    assert [room for room, _ in rows] == list(script["ALLOWED"])
