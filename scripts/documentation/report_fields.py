"""An extension of griffe: the fields of the report's classes as a list, with the descriptions of the JSON Schema."""

import json
import pathlib

import griffe

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "docs" / "report.schema.json"
MODULE = "turnpike._report"


def descriptions():
    """By class, what the schema says of each field."""
    schema = json.loads(SCHEMA.read_text())
    definitions = {"Report": schema, **schema["$defs"]}
    return {
        name: {key: value.get("description", "") for key, value in definition.get("properties", {}).items()}
        for name, definition in definitions.items()
    }


class ReportFields(griffe.Extension):
    def on_class_members(self, *, cls, **_):
        if cls.parent.path != MODULE or cls.docstring is None:
            return
        known = descriptions().get(cls.name, {})
        fields = {name: member for name, member in cls.members.items() if member.is_attribute and name[0] != "_"}
        lines = [f"    {name} ({field.annotation}): {known[name]}" for name, field in fields.items() if name in known]
        if lines:
            cls.docstring.value += "\n\nAttributes:\n" + "\n".join(lines)
        for name in fields:
            cls.del_member(name)
