#!/usr/bin/env python3
"""Writes src/base/operator_table.inc: how PyTorch's C++ names of operators split into name and overload.

Run it with a Python that has torch and PyYAML, once per new PyTorch release:
    pip install torch pyyaml && python scripts/generate_operators.py
It checks that every structure of at::_ops is named as its operator, followed by `_OVERLOAD` if there is an overload.
So the table needs to hold only the length of the name.
"""

import pathlib
import sys

import torchgen
from torchgen.gen import parse_native_yaml

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "src" / "base" / "operator_table.inc"


def torch_version() -> str:
    from importlib.metadata import version

    return version("torch").split("+")[0]


def overloaded_operators() -> list[tuple[str, int]]:
    folder = pathlib.Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"
    parsed = parse_native_yaml(str(folder / "native_functions.yaml"), str(folder / "tags.yaml"))
    entries = []
    for function in parsed.native_functions:
        structure = function.func.name.unambiguous_name()
        name, overload = str(function.func.name.name), function.func.name.overload_name
        if structure != (f"{name}_{overload}" if overload else name):
            sys.exit(
                f"generate_operators.py: at::_ops::{structure} is not made of {name!r} and {overload!r}: "
                "the table cannot hold it"
            )
        if overload:
            entries.append((structure, len(name)))
    return sorted(entries)


def main() -> None:
    entries = overloaded_operators()
    lines = [
        "// The structures of at::_ops that carry an overload, and how much of each is the operator's name. "
        "Sorted bytewise.",
        f"// Made from PyTorch {torch_version()} by scripts/generate_operators.py: do not edit.",
        "// clang-format off",
        *(f'{{"{structure}", {length}}},' for structure, length in entries),
        "",
    ]
    OUTPUT.write_text("\n".join(lines))
    print(f"{OUTPUT}: {len(entries)} overloaded operators")


if __name__ == "__main__":
    main()
