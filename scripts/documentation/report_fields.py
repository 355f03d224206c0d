"""An extension of griffe: the fields of a class as one list. Those of the report are described by its JSON Schema."""

import json
import pathlib

import griffe

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "docs" / "report.schema.json"
REPORT = "turnpike._report"


def descriptions():
    """By class of the report, what the schema says of each field."""
    schema = json.loads(SCHEMA.read_text())
    definitions = {"Report": schema, **schema["$defs"]}
    return {
        name: {key: value.get("description", "") for key, value in definition.get("properties", {}).items()}
        for name, definition in definitions.items()
    }


class ReportFields(griffe.Extension):
    def on_class_members(self, *, cls, **_):
        if cls.docstring is None:
            return
        known = descriptions().get(cls.name, {}) if cls.parent.path == REPORT else {}
        fields = {name: field for name, field in cls.members.items() if field.is_attribute and name[0] != "_"}
        lines = []
        for name, field in fields.items():
            text = known.get(name) or (field.docstring.value if field.docstring else "")
            if text and field.annotation is not None:
                lines.append(f"    {name} ({field.annotation}): {text}")
                cls.del_member(name)
        if lines:
            cls.docstring.value += "\n\nAttributes:\n" + "\n".join(lines)
