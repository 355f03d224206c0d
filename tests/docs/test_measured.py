"""Which result files are older than the code that they describe."""

import json
import subprocess

import pytest
from documentation import figures, golden, measured

KNOWN = {
    "cost": {"measures": "costs", "folders": ["src/record"]},
    "cost-parts": {"measures": "parts", "folders": ["a"]},
}


def git(root, *arguments):
    name = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(root), *name, *arguments], check=True, capture_output=True)


def commit(root, *paths):
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        with (root / path).open("a") as file:
            file.write("x\n")
    git(root, "add", ".")
    git(root, "commit", "-m", "x")


def changed(root, name="cost-h100.json"):
    return name in measured.changed_since(measured.history(root), [name], KNOWN)


@pytest.fixture
def root(tmp_path):
    git(tmp_path, "init", "-b", "main")
    commit(tmp_path, "src/record/a.cpp")
    commit(tmp_path, "bench/results/cost-h100.json", "bench/results/cost-parts-h100.json")
    return tmp_path


def test_the_pages_and_the_list_say_which_code_has_changed_since():
    now = measured.changed()
    if now is None:
        pytest.skip("git has no whole history here")
    assert [str(page.relative_to(golden.ROOT)) for page in figures.stale(now)] == []


def test_every_result_file_is_described_and_every_folder_exists():
    known = measured.table()
    for name in measured.results():
        measured.described(name, known)
    assert [folder for one in known.values() for folder in one["folders"] if not (golden.ROOT / folder).is_dir()] == []


def test_a_file_is_as_measured_until_its_code_changes(root):
    assert not changed(root)
    commit(root, "src/recorder/a.cpp", "docs/a.md")
    assert not changed(root)
    commit(root, "src/record/b/c.cpp")
    assert changed(root)
    assert not changed(root, "cost-parts-h100.json")
    commit(root, "bench/results/cost-h100.json")
    assert not changed(root)


def test_a_change_that_is_not_committed_counts(root):
    (root / "src/record/new.cpp").write_text("")
    assert changed(root)
    # Measured again, it describes what is there, and so it does once both are committed together.
    (root / "bench/results/cost-h100.json").write_text("{}")
    assert not changed(root)
    commit(root, "docs/a.md")
    assert not changed(root)


def test_what_a_merge_brings_in_counts(root):
    git(root, "checkout", "-b", "other", "HEAD~1")
    commit(root, "src/record/b.cpp")
    git(root, "checkout", "main")
    assert not changed(root)
    git(root, "merge", "--no-edit", "other")
    assert changed(root)


def test_a_shallow_clone_and_a_folder_without_git_do_not_say(root, tmp_path_factory):
    shallow = tmp_path_factory.mktemp("clones") / "shallow"
    git(root, "clone", "--depth", "1", f"file://{root}", str(shallow))
    assert measured.changed(shallow) is None
    assert measured.changed(tmp_path_factory.mktemp("none")) is None


def test_a_file_that_nothing_describes_is_an_error():
    assert measured.described("cost-parts-h100.json", KNOWN)["measures"] == "parts"
    assert measured.described("cost-parted-h100.json", KNOWN)["measures"] == "costs"
    with pytest.raises(ValueError, match=r"code\.toml does not say which code move-h100\.json describes"):
        measured.described("move-h100.json", KNOWN)


def test_the_list_has_a_row_for_each_file(root):
    (root / "bench/results/code.toml").write_text('[cost]\nmeasures = "costs"\nfolders = ["src"]\n')
    for name, count in (("cost-h100.json", 1), ("cost-parts-h100.json", 2)):
        result = {"date": "2026-11-22T15:59:42Z", "device": "NVIDIA H100", "device_count": count}
        (root / "bench/results" / name).write_text(json.dumps(result))
    assert measured.readme({"cost-h100.json"}, root).splitlines()[-2:] == [
        "| [cost-h100.json](cost-h100.json) | costs | 2026-11-22 | NVIDIA H100 | code has changed since |",
        "| [cost-parts-h100.json](cost-parts-h100.json) | costs | 2026-11-22 | 2 x NVIDIA H100 | as measured |",
    ]


@pytest.mark.parametrize(
    ("dates", "changed", "said"),
    [
        ({"a": "1"}, set(), "Measured: `a` on 1. The code has not changed since."),
        ({"a": "1"}, {"a", "c"}, "Measured: `a` on 1. The code has changed since."),
        ({"b": "2", "a": "1"}, {"b"}, "Measured: `a` on 1; `b` on 2. The code has changed since for `b`."),
        ({"a": "1", "b": "1"}, {"a", "b"}, "Measured: `a`, `b` on 1. The code has changed since."),
    ],
)
def test_the_sentence_of_a_page(dates, changed, said):
    assert measured.sentence(dates, changed) == said
