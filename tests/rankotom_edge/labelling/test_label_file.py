"""Label files on a real disk: hostile ones, cut-off ones, and two processes at once."""

from __future__ import annotations

import json
import os
import resource
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calib.errors import RankotomError
from rankotom_edge.labelling.label_file import MAX_BYTES, LabelFile, check_rater, read_labels


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "labels.jsonl"


def line_of(label: Any, /, **changed: object) -> bytes:
    """A line as it is written, with some fields changed."""
    content = {**label.as_json(), **changed}
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def without(label: Any, name: str) -> bytes:
    content = {key: value for key, value in label.as_json().items() if key != name}
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def test_labels_come_back_as_they_were_given(path: Path, label: Callable[..., Any]) -> None:
    given = [
        label(),
        label(expression=None, rater="Бо́рис 李"),
        label(face="photos/\udcff \n\"'.jpg", logits=(0.1, -1e-300)),
    ]
    with LabelFile(path) as file:
        for each in given:
            file.append(each)
        assert file.labels == tuple(given)
    assert read_labels(path) == tuple(given)
    with LabelFile(path) as file:
        assert file.labels == tuple(given)


def test_each_label_is_on_the_disk_when_append_returns(
    path: Path, label: Callable[..., Any]
) -> None:
    with LabelFile(path) as file:
        for count in (1, 2, 3):
            file.append(label(face=f"f{count}"))
            assert len(read_labels(path)) == count
    lines = path.read_bytes().splitlines()
    assert [set(json.loads(line)) for line in lines] == [
        {"format", "face", "group", "rater", "label", "logits", "model", "sha256", "time"}
    ] * 3


def test_only_its_owner_may_read_it(path: Path, label: Callable[..., Any]) -> None:
    before = os.umask(0)
    try:
        with LabelFile(path) as file:
            file.append(label())
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_cut_off_last_line_is_ignored_and_gone_with_the_next_label(
    path: Path, label: Callable[..., Any]
) -> None:
    whole, cut = line_of(label("f1")), line_of(label("f2"))
    for length in range(1, len(cut)):
        path.write_bytes(whole + cut[:length])
        assert [each.face for each in read_labels(path)] == ["f1"]
        with LabelFile(path) as file:
            assert path.read_bytes() == whole + cut[:length]
            file.append(label("f3"))
        assert path.read_bytes() == whole + line_of(label("f3"))


HOSTILE = {
    "not UTF-8": b'{"format":1,"face":"\xff\xfe"}\n',
    "nested brackets": b"[" * 100_000 + b"]" * 100_000 + b"\n",
    "nested objects": b'{"format":' * 50_000 + b"\n",
    "a picture": b"\x89PNG\r\n\x1a\n\x00\x00",
    "zero bytes": bytes(4096),
    "an empty line": b"\n",
    "text": b"to do: buy milk",
    "a table": b"face,label\na,happiness\n",
    "a list": b"[1, 2, 3]\n",
    "a number": b"1\n",
    "null": b"null\n",
    "a session's frame": b'{"frame": 0, "time": 0.0, "faces": [], "latency_ms": {}}\n',
    "a huge line without end": b'{"face": "' + b"a" * 5_000_000,
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_another_kind_of_file_is_refused_and_stays_as_it_is(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for use in (LabelFile, read_labels):
        with pytest.raises(RankotomError, match=r"not a label as rankotom-edge writes it") as error:
            use(path)
        assert str(path) in str(error.value)
        assert len(str(error.value)) < 400
    assert path.read_bytes() == content


STRANGE: dict[str, dict[str, object]] = {
    "another format": {"format": 2},
    "format as text": {"format": "1"},
    "format as truth": {"format": True},
    "face": {"face": 7},
    "no face": {"face": ""},
    "a long face": {"face": "x" * 5000},
    "group": {"group": None},
    "rater": {"rater": ["Anna"]},
    "a rater on two lines": {"rater": "An\nna"},
    "a rater who writes backwards": {"rater": "Anna\u202egro"},
    "a rater who rings": {"rater": "\x07\x1b[2J"},
    "a long rater": {"rater": "x" * 41},
    "label": {"label": 3},
    "an empty label": {"label": ""},
    "logits": {"logits": "none"},
    "no logits": {"logits": []},
    "one logit": {"logits": [1.0]},
    "too many logits": {"logits": [0.5] * 101},
    "a logit as text": {"logits": [0.5, "1"]},
    "a logit as truth": {"logits": [0.5, True]},
    "a missing logit": {"logits": [0.5, None]},
    "nested logits": {"logits": [[0.5, 1.0]]},
    "NaN": {"logits": [0.5, float("nan")]},
    "infinity": {"logits": [0.5, float("inf")]},
    "a huge whole number": {"logits": [0.5, 10**400]},
    "model": {"model": {}},
    "hash": {"sha256": 5},
    "time": {"time": 1700000000},
    "no such time": {"time": "yesterday"},
    "a time without zone": {"time": "2026-03-01T12:00:00"},
}


@pytest.mark.parametrize("changed", STRANGE.values(), ids=STRANGE)
def test_a_strange_value_is_named_with_its_line(
    path: Path, label: Callable[..., Any], changed: dict[str, object]
) -> None:
    content = line_of(label("f1")) + line_of(label("f2"), **changed) + line_of(label("f3"))
    path.write_bytes(content)
    with pytest.raises(RankotomError, match=r"^Line 2 of .*labels\.jsonl is not a label"):
        LabelFile(path)
    assert path.read_bytes() == content


def test_a_number_beyond_all_numbers_is_refused(path: Path, label: Callable[..., Any]) -> None:
    for number in (b"1e999", b"-1e999", b"NaN", b"1" * 5000):
        path.write_bytes(line_of(label()).replace(b"[0.0,", b"[" + number + b","))
        with pytest.raises(RankotomError, match="Line 1"):
            read_labels(path)


def test_a_missing_field_is_named(path: Path, label: Callable[..., Any]) -> None:
    for name in label().as_json():
        path.write_bytes(without(label(), name))
        with pytest.raises(RankotomError, match=f"it has no '{name}'"):
            read_labels(path)


def test_a_label_that_could_not_be_read_again_is_not_written(
    path: Path, label: Callable[..., Any]
) -> None:
    with LabelFile(path) as file:
        for changed in ({"logits": (float("nan"), 1.0)}, {"face": ""}, {"rater": "\n"}):
            with pytest.raises(RankotomError, match="no label to keep"):
                file.append(label(**changed))
        assert file.labels == ()
    assert path.read_bytes() == b""


def test_a_folder_a_fifo_a_device_and_no_file_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for place in (tmp_path, tmp_path / "fifo", Path("/dev/null"), tmp_path / "no folder" / "file"):
        for use in (LabelFile, read_labels):
            with pytest.raises(RankotomError, match=str(place)):
                use(place)
    with pytest.raises(RankotomError, match="No such file"):
        read_labels(tmp_path / "missing")
    with pytest.raises(RankotomError, match="Cannot open"):
        LabelFile(Path("a\0b"))


def test_a_huge_file_is_refused_without_being_read(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(RankotomError, match="67,108,865 bytes"):
        LabelFile(path)


def test_without_room_on_the_disk_the_labels_before_are_kept(
    path: Path, label: Callable[..., Any]
) -> None:
    first = line_of(label("f1"))
    with LabelFile(path) as file:
        file.append(label("f1"))
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(first) + 50, before[1]))
        try:
            with pytest.raises(RankotomError, match="labels before are kept"):
                file.append(label("f2"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert path.read_bytes() == first
        file.append(label("f3"))
    assert path.read_bytes() == first + line_of(label("f3"))


HOLD = """
import sys
from pathlib import Path
from rankotom_edge.labelling.label_file import LabelFile
with LabelFile(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_second_process_is_told_who_holds_the_file(path: Path, label: Callable[..., Any]) -> None:
    with LabelFile(path) as file:
        file.append(label())
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(RankotomError, match=rf"process {holder.pid}\) is labelling into"):
            LabelFile(path)
        assert len(read_labels(path)) == 1  # reading is free
    finally:
        holder.kill()
        holder.communicate()
    with LabelFile(path) as file:  # a killed process leaves no lock
        assert len(file.labels) == 1


@pytest.mark.parametrize("name", ["", " ", "Anna ", "a\tb", "\x1b[31mred", "x" * 41, "\u200b"])
def test_a_name_that_cannot_be_printed_is_refused(name: str) -> None:
    with pytest.raises(RankotomError, match="rater's name"):
        check_rater(name)


@pytest.mark.parametrize("name", ["Anna", "[bold]B[/]", "<b>C</b>", "../d", "x" * 40, "李 é"])
def test_any_other_name_is_taken_as_it_is(name: str) -> None:
    assert check_rater(name) == name
