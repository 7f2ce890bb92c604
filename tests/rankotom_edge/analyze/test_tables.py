import csv
import io
from collections.abc import Mapping
from typing import Any

import pytest

from rankotom_edge.analyze import tables
from rankotom_edge.analyze.tables import make_table

TYPES: Mapping[str, type] = {"video": str, "frame": int, "time": float, "reason": str}
ROWS = [
    {"video": "ä, b", "frame": 1, "time": 0.5, "reason": None},
    {"video": "c", "frame": 2, "time": 1.0, "reason": 'too "dark"'},
]


def read_parquet(content: bytes) -> Any:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    return parquet.read_table(io.BytesIO(content))


def test_a_parquet_table_has_the_rows_and_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "ROWS", 1)  # packed one by one
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = make_table("parquet", TYPES)
    for row in ROWS:
        table.add(row)
    read = read_parquet(table.finish())
    assert read.to_pylist() == ROWS
    assert [str(field.type) for field in read.schema] == ["string", "int64", "double", "string"]


def test_a_csv_table_has_the_rows() -> None:
    table = make_table("csv", TYPES)
    for row in ROWS:
        table.add(row)
    read = list(csv.DictReader(io.StringIO(table.finish().decode())))
    assert read == [
        {"video": "ä, b", "frame": "1", "time": "0.5", "reason": ""},
        {"video": "c", "frame": "2", "time": "1.0", "reason": 'too "dark"'},
    ]


def test_a_table_without_rows_has_its_columns() -> None:
    assert make_table("csv", TYPES).finish() == b"video,frame,time,reason\n"
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    read = read_parquet(make_table("parquet", TYPES).finish())
    assert (read.num_rows, read.column_names) == (0, list(TYPES))
