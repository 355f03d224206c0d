"""A run as tables, which data frame libraries read through Arrow's C interface."""

from __future__ import annotations

import os
from typing import Any

from turnpike import _core

NAMES = tuple(_core.table_names())
_BATCH_ROWS = 65536


class Table:
    """The rows of a run, one for each transfer, synchronisation, kernel and so on. `Report.table()` makes it.

    pandas (`pd.DataFrame.from_arrow(t)`), polars (`pl.DataFrame(t)`), DuckDB (`duckdb.sql("select * from t")`) and
    pyarrow (`pa.table(t)`) take it as it is. It holds no rows: each reading reads the run again, one process at a time.
    """

    def __init__(
        self, paths: list[str], name: str, batch_rows: int = _BATCH_ROWS, dictionary: bool = True, of: object = None
    ) -> None:
        self._table = _core.Table([os.fspath(path) for path in paths], name, batch_rows, dictionary)
        self.name = name
        self.paths = list(paths)
        self._of = of  # whose life keeps the run, if it is one of a notebook

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._table.columns

    @property
    def incomplete(self) -> str | None:
        """What of the run could not be read, in a sentence, as far as the table was read; None: nothing."""
        return self._table.incomplete or None

    def lacks_kernels(self) -> bool:
        """Whether the table is about kernels, and the run has none: then reading it raises. Reads the run."""
        return self._table.lacks_kernels()

    def __arrow_c_schema__(self) -> object:
        return self._table.schema()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        # A consumer that wants other types casts by itself: the interface lets a producer ignore the wish.
        return self._table.stream()

    def __len__(self) -> int:
        """The number of rows, for which the run is read."""
        return self._table.row_count()

    def __bool__(self) -> bool:
        return True  # without reading the run

    def to_parquet(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Writes a Parquet file with pyarrow, a batch at a time.

        Args:
            path: The file.
            **options: For `pyarrow.parquet.ParquetWriter`; the compression is zstd unless they say another.

        Raises:
            ImportError: pyarrow is not installed: `pip install "turnpike-gpu[tables]"`.
            turnpike.Error: The run cannot be read.
        """
        from turnpike._export import write_parquet

        write_parquet(self, path, **options)

    def to_pandas(self) -> Any:
        """Returns the rows as a `pandas.DataFrame`, by `from_arrow` of pandas 3, or else by pyarrow.

        Raises:
            ImportError: pandas is not installed, or an earlier one without pyarrow.
            turnpike.Error: The run cannot be read.
        """
        import pandas  # type: ignore[import-untyped]

        if hasattr(pandas.DataFrame, "from_arrow"):
            return pandas.DataFrame.from_arrow(self)
        import pyarrow

        return pyarrow.table(self).to_pandas()

    def __repr__(self) -> str:
        return f"<turnpike.Table {self.name} of {', '.join(map(str, self.paths))}: {len(self.columns)} columns>"
