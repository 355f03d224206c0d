"""Tables as files of Arrow and Parquet, written by pyarrow; and `turnpike export --to arrow|parquet`."""

from __future__ import annotations

import argparse
import concurrent.futures
import inspect
import os
import pathlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from turnpike import _core
from turnpike import _output_file as output_file
from turnpike._printable import printable

if TYPE_CHECKING:
    from turnpike._table import Table

_FORMATS = ("arrow", "parquet")
# The times of rows rise mostly by little.
_TIMES = ("start", "call_start", "launch_start")
# As many rows as a group of rows has at most: pages end by their bytes alone. A page has a compressor of its own.
_PAGE_ROWS = 1 << 20


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError('Arrow and Parquet files need pyarrow: pip install "turnpike-gpu[tables]"') from error
    return pyarrow


def _batches(table: Table) -> tuple[Any, Iterator[Any]]:
    """The schema and the batches of a table; what reading meets is turnpike.Error."""
    pyarrow = _pyarrow()
    reader = pyarrow.RecordBatchReader.from_stream(table)

    def next_batch() -> Any:
        try:
            return reader.read_next_batch()
        except StopIteration:
            return None
        except OSError as error:  # from the stream, as Arrow's interface reports errors
            raise _core.Error(str(error)) from error

    def batches() -> Iterator[Any]:
        # Reads a batch while the one before is written.
        with concurrent.futures.ThreadPoolExecutor(1, "turnpike-table") as reading:
            following = reading.submit(next_batch)
            while (batch := following.result()) is not None:
                following = reading.submit(next_batch)
                yield batch

    return reader.schema, batches()


def _parquet_options(schema: Any) -> dict[str, Any]:
    """Dictionaries for what has few values; differences for times; the least and most of numbers alone.

    What makes the file small makes it fast to write: there is less to compress.
    """
    pyarrow = _pyarrow()
    texts = [field.name for field in schema if pyarrow.types.is_dictionary(field.type)]
    numbers = [field.name for field in schema if not pyarrow.types.is_dictionary(field.type)]
    times = [name for name in _TIMES if name in schema.names]
    few = [
        field.name
        for field in schema
        if pyarrow.types.is_int64(field.type) and not field.name.endswith("_ns") and field.name != "address"
    ]
    options: dict[str, Any] = {
        "compression": "zstd",
        "use_dictionary": texts + few,
        "column_encoding": dict.fromkeys(times, "DELTA_BINARY_PACKED") or None,
        "write_statistics": numbers,
    }
    # Newer ones would end a page after 20,000 rows.
    if "max_rows_per_page" in inspect.signature(pyarrow.parquet.write_table).parameters:
        options["max_rows_per_page"] = _PAGE_ROWS
    return options


def write_parquet(table: Table, path: str | os.PathLike[str], **options: Any) -> None:
    """Writes one file. `options` come before those of _parquet_options()."""
    output_file.check_is_no_input(path, table.paths)
    pyarrow = _pyarrow()
    schema, batches = _batches(table)
    chosen = {**_parquet_options(schema), **options}
    with output_file.whole(path) as new:
        _write(pyarrow.parquet.ParquetWriter(new, schema, **chosen), batches)


def write_arrow(table: Table, path: str | os.PathLike[str]) -> None:
    """Writes one file of Arrow's IPC format (Feather 2), whose dictionaries grow from batch to batch."""
    output_file.check_is_no_input(path, table.paths)
    pyarrow = _pyarrow()
    schema, batches = _batches(table)
    options = pyarrow.ipc.IpcWriteOptions(emit_dictionary_deltas=True, compression="zstd")
    with output_file.whole(path) as new:
        _write(pyarrow.ipc.new_file(new, schema, options=options), batches)


def _write(writer: Any, batches: Iterator[Any]) -> None:
    with writer:
        for batch in batches:
            writer.write_batch(batch)


def is_ours(arguments: list[str]) -> bool:
    """Whether these arguments of `turnpike` are an export that needs this interpreter."""
    if arguments[:1] != ["export"]:
        return False
    # The words after "--" are runs, not options.
    words = arguments[: arguments.index("--")] if "--" in arguments else arguments
    wanted = [word.removeprefix("--to=") for word in words if word.startswith("--to=")]
    wanted += [words[i + 1] for i, word in enumerate(words[:-1]) if word == "--to"]
    return any(name in _FORMATS for name in wanted)


def main(arguments: list[str]) -> int:
    """Runs `turnpike export --to arrow|parquet`. Returns its exit code: those of docs/architecture.md."""
    from turnpike._table import NAMES, Table

    parser = argparse.ArgumentParser(prog="turnpike export", description="Write the tables of a run as files.")
    parser.add_argument(
        "runs", nargs="*", metavar="RUN", help="a run, or several: the ranks of one program (default: the newest here)"
    )
    parser.add_argument("--to", required=True, choices=_FORMATS, help="the format")
    parser.add_argument("--table", choices=NAMES, help="this table alone, into one file (default: all, into a folder)")
    parser.add_argument("-o", "--output", metavar="FILE|DIR", help="what to write (default: NAME.parquet here)")
    parser.add_argument("--strict", action="store_true", help="exit with 3 if a run is incomplete")
    given = parser.parse_args(arguments)
    if not given.runs:
        newest = _core.newest_run()
        if newest is None:
            return _fail("this folder has no run (*.tpk). Name one.", 2)
        _say(f"{newest}, the newest run in this folder")
        given.runs = [str(newest)]
    if given.output == "-":
        return _fail("--to arrow and --to parquet cannot write to standard output: name a file with -o.", 2)
    name = pathlib.Path(os.path.normpath(given.runs[0])).stem
    default = f"{name}.{given.table}.{given.to}" if given.table else f"{name}.{given.to}"
    output = pathlib.Path(given.output or default)
    try:
        output_file.check_is_no_input(output, given.runs)
    except _core.Error as error:
        return _fail(str(error), 2)
    write = write_parquet if given.to == "parquet" else write_arrow
    tables = [given.table] if given.table else list(NAMES)
    incomplete = None
    try:
        if not given.table:
            output.mkdir(exist_ok=True)
        for name in tables:
            table = Table(given.runs, name)
            _export(table, output if given.table else output / f"{name}.{given.to}", write, given)
            incomplete = incomplete or table.incomplete
    except _core.Error as error:
        return _fail(str(error), 3)
    except (ImportError, OSError) as error:
        return _fail(str(error), 4)
    _say(f"wrote {output}")
    return _fail(incomplete, 3 if given.strict else 0) if incomplete else 0


def _export(table: Table, path: pathlib.Path, write: Callable[[Table, pathlib.Path], None], given: Any) -> None:
    try:
        write(table, path)
    except _core.Error as error:
        # An export of all tables leaves out those about kernels if the run has none, and says so.
        if given.table or not table.lacks_kernels():
            raise
        _say(f"no table {table.name}: {error}")


def _say(message: str) -> None:
    print(f"turnpike export: {printable(message)}", file=sys.stderr)


def _fail(message: str, code: int) -> int:
    _say(message)
    return code
