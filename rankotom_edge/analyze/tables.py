"""Writes the table of a video, as Parquet or CSV, in memory: a worker may have another disk."""

import csv
import io
from collections.abc import Mapping
from typing import Literal, Protocol, TypeAlias

Format: TypeAlias = Literal["parquet", "csv"]

ROWS = 20_000  # held as Python values before they are packed; chosen by eye


class TableWriter(Protocol):
    def add(self, row: Mapping[str, object]) -> None: ...

    def finish(self) -> bytes: ...


def make_table(format: Format, types: Mapping[str, type]) -> TableWriter:
    return ParquetTable(types) if format == "parquet" else CsvTable(types)


class CsvTable:
    def __init__(self, types: Mapping[str, type]) -> None:
        self._text = io.StringIO(newline="")
        self._writer = csv.DictWriter(self._text, list(types), lineterminator="\n")
        self._writer.writeheader()

    def add(self, row: Mapping[str, object]) -> None:
        self._writer.writerow(row)

    def finish(self) -> bytes:
        return self._text.getvalue().encode()


class ParquetTable:
    """Every video has the same columns of the same types, also where one is empty."""

    def __init__(self, types: Mapping[str, type]) -> None:
        import pyarrow
        from pyarrow import parquet

        kinds = {int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}
        self._schema = pyarrow.schema([(name, kinds[kind]) for name, kind in types.items()])
        self._bytes = pyarrow.BufferOutputStream()
        self._writer = parquet.ParquetWriter(self._bytes, self._schema, compression="zstd")
        self._make_batch = pyarrow.RecordBatch.from_pylist
        self._rows: list[Mapping[str, object]] = []

    def add(self, row: Mapping[str, object]) -> None:
        self._rows.append(row)
        if len(self._rows) >= ROWS:
            self._pack()

    def finish(self) -> bytes:
        self._pack()
        self._writer.close()
        return bytes(self._bytes.getvalue())

    def _pack(self) -> None:
        self._writer.write_batch(self._make_batch(self._rows, schema=self._schema))
        self._rows = []
