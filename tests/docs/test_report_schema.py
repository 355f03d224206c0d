"""docs/report.schema.json describes what `turnpike report --json` prints, all of it and nothing else."""

import copy
import dataclasses
import json
import pathlib
import subprocess

import jsonschema
import pytest

from turnpike import _report

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/report.schema.json").read_text())
KINDS_OF_RUNS = ("examples/*.tpk", "tests/golden/*/*.tpk", "tests/golden/*/*.json.gz")
RUNS = sorted(run for kind in KINDS_OF_RUNS for run in ROOT.glob(kind))
# Every key that a reader of schema 1 may rely on. Keys are only added: so are lines.
KEYS = (pathlib.Path(__file__).parent / "report_keys.txt").read_text().split()


def closed(schema):
    """The schema without room for keys that it does not name."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    return {"additionalProperties": False, **made} if "properties" in made and "type" in made else made


VALIDATOR = jsonschema.Draft202012Validator(closed(SCHEMA))


def errors(document):
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(document)]


def objects():
    return {"Report": SCHEMA, "Totals": SCHEMA["properties"]["totals"], **SCHEMA["$defs"]}


def test_it_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: str(run.relative_to(ROOT)))
def test_the_report_on_every_recording_fits(run, turnpike):
    printed = subprocess.run([turnpike, "report", "--json", run], capture_output=True, check=True)
    assert errors(json.loads(printed.stdout)) == []


@pytest.mark.parametrize("name", ["distinct", "bare"])
def test_a_report_with_every_value_or_with_none_fits(name):
    assert errors(json.loads((ROOT / f"tests/report/golden/{name}.json").read_text())) == []


def test_every_key_is_required_and_described():
    for name, found in objects().items():
        assert found["required"] == list(found["properties"]), name
        for key, value in found["properties"].items():
            assert value.get("description") or name == "Totals", f"{name}.{key}"


def test_no_key_is_gone():
    assert sorted(f"{name}.{key}" for name, found in objects().items() for key in found["properties"]) == sorted(KEYS)


def test_the_python_classes_have_these_keys():
    classes = {name: found for name, found in vars(_report).items() if dataclasses.is_dataclass(found)}
    assert len(classes) > 8
    for name, found in classes.items():
        assert {field.name for field in dataclasses.fields(found)} == set(objects()[name]["properties"]), name
    assert set(_report.Report.__annotations__) == set(SCHEMA["properties"]) - {"schema"}


def test_the_check_finds_what_it_looks_for():
    good = json.loads((ROOT / "tests/report/golden/distinct.json").read_text())
    without, more, other = copy.deepcopy(good), copy.deepcopy(good), copy.deepcopy(good)
    del without["sites"][0]["count"]
    more["totals"]["h2d"]["new"] = 1
    other["span_ns"] = "1"
    assert errors(without) == ["$.sites[0]: 'count' is a required property"]
    assert len(errors(more)) == len(errors(other)) == 1
    assert "'new' was unexpected" in errors(more)[0]
    # A reader with this schema still takes the output of a later version.
    assert list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(more)) == []
