"""scripts/check_includes: what it must refuse, what it must let pass, and that the tree as it stands passes."""

import pathlib
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
        ("record", '#include "trace/reader.h"', "record may include of trace only"),
        ("record", '#include "analyze/report.h"', "record may not include analyze"),
        ("analyze", '#include "cuda/cupti.h"', "analyze may not include cuda"),
        ("analyze", '#include "trace/writer.h"', "analyze may include of trace only"),
        ("report", '#include "trace/writer.h"', "report"),
        ("move", '#include "record/session.h"', "move may not include record"),
        ("cli", '#include "record/injection.h"', "cli may include of record only session.h"),
        ("python", '#include "cuda/cupti.h"', "python may not include cuda"),
        ("record", "#include <cupti.h>", "only src/cuda includes headers"),
        ("record", "  #  include <cuda_runtime_api.h>", "only src/cuda includes headers"),
        ("trace", "#include <nvtx3/nvToolsExt.h>", "only src/cuda includes headers"),
        ("base", '#include "result.h"', "include from the root"),
        ("base", '#include "nowhere/file.h"', "no folder of the house"),
        ("helpers", "", "not in the table"),
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
        ("record", '#include "trace/writer.h"'),
        ("record", '#include "cuda/cupti.h"'),
        ("analyze", '#include "trace/process.h"'),
        ("cli", '#include "record/session.h"'),
        ("cuda", "#include <cupti.h>"),
        ("base", "#include <cstdint>"),
        ("base", '// #include "trace/format.h"'),
    ],
)
def test_lets_pass(tmp_path, folder, line):
    assert check(tree(tmp_path, folder, line + "\n")).returncode == 0


def test_says_so_when_there_is_nothing_to_check(tmp_path):
    (tmp_path / "src").mkdir()
    assert check(tmp_path).returncode == 1


def test_this_tree_passes():
    result = check(ROOT)
    assert result.returncode == 0, result.stdout
