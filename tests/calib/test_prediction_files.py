import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calib.errors import RankotomError
from calib.prediction_files import read_predictions

ROWS = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]])
LABELS = np.array([0, 2])


def write_npz(folder: Path, **arrays: Any) -> Path:
    path = folder / "predictions.npz"
    np.savez(path, **arrays)
    return path


def write_csv(folder: Path, text: str) -> Path:
    path = folder / "predictions.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_an_npz_of_probabilities_is_read_with_all_it_holds(tmp_path: Path) -> None:
    votes = np.array([[8, 1, 1], [0, 5, 5]])
    path = write_npz(
        tmp_path,
        probabilities=ROWS.astype(np.float32),
        logits=np.log(ROWS),
        labels=LABELS,
        votes=votes,
        classes=["calm", "glad", "sad"],
    )
    predictions = read_predictions(path)
    assert predictions.probabilities == pytest.approx(ROWS, abs=1e-6)
    assert predictions.labels.tolist() == [0, 2]
    assert predictions.classes == ("calm", "glad", "sad")
    assert predictions.votes is not None
    assert predictions.votes.tolist() == votes.tolist()
    assert predictions.logits is not None


def test_an_npz_of_logits_gives_their_softmax(tmp_path: Path) -> None:
    predictions = read_predictions(write_npz(tmp_path, logits=np.log(ROWS) + 3, labels=LABELS))
    assert predictions.probabilities == pytest.approx(ROWS)
    assert predictions.logits == pytest.approx(np.log(ROWS) + 3)
    assert predictions.votes is None


@pytest.mark.parametrize("kind", [np.str_, np.bytes_])
def test_labels_may_be_class_names(tmp_path: Path, kind: type) -> None:
    path = write_npz(
        tmp_path,
        probabilities=ROWS,
        labels=np.array(["calm", "sad"], dtype=kind),
        classes=np.array(["calm", "glad", "sad"], dtype=kind),
    )
    assert read_predictions(path).labels.tolist() == [0, 2]


def test_a_csv_is_read_by_its_header_whatever_the_order_of_its_columns(tmp_path: Path) -> None:
    path = write_csv(
        tmp_path,
        "face,votes:sad,label,probability:calm,probability:sad,votes:calm\n"
        "a.png,2,sad,0.25,0.75,8\n"
        "\n"
        "b.png,7,0,0.5,0.5,3\n",
    )
    predictions = read_predictions(path)
    assert predictions.classes == ("calm", "sad")
    assert predictions.labels.tolist() == [1, 0]
    assert predictions.probabilities.tolist() == [[0.25, 0.75], [0.5, 0.5]]
    assert predictions.votes is not None
    assert predictions.votes.tolist() == [[8, 2], [3, 7]]


def test_a_csv_of_logits_gives_their_softmax(tmp_path: Path) -> None:
    path = write_csv(tmp_path, "logit:calm,logit:sad,label\n2,2,calm\n")
    assert read_predictions(path).probabilities.tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"preds": ROWS}, "found no probabilities or logits and no labels, only preds"),
        ({"probabilities": ROWS}, "found no labels, only probabilities"),
        ({"labels": LABELS}, "found no probabilities or logits, only labels"),
        ({"probabilities": ROWS, "labels": LABELS[:1]}, "2 predictions, but the labels"),
        ({"probabilities": ROWS, "labels": [0, 3]}, "must lie in 0 to 2"),
        ({"probabilities": ROWS * 2, "labels": LABELS}, "do not sum to 1 in 2 rows"),
        ({"probabilities": ROWS, "labels": ["glad", "class 0"]}, "label 'glad' in row 0"),
        ({"probabilities": ROWS, "labels": LABELS, "classes": ["a", "b"]}, "2 class names"),
        ({"logits": [[np.nan, 0.0, 0.0]], "labels": [0]}, "logits hold NaN"),
        ({"probabilities": ROWS[0], "labels": LABELS}, "probabilities have shape"),
        ({"probabilities": ROWS, "labels": LABELS, "votes": ROWS[:1]}, "votes have shape"),
        ({"probabilities": np.array([[{}]]), "labels": [0]}, "pickled Python objects"),
    ],
)
def test_an_npz_that_cannot_be_measured_says_why_and_where(
    tmp_path: Path, arrays: dict[str, object], message: str
) -> None:
    with pytest.raises(RankotomError, match=rf"predictions\.npz: .*{message}"):
        read_predictions(write_npz(tmp_path, **arrays))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found no column probability:NAME or logit:NAME and no column label, only nothing"),
        ("probability:a,probability:b\n0.5,0.5\n", "found no column label, only probability:a"),
        ("label\n0\n", "found no column probability:NAME or logit:NAME, only label"),
        ("happy,sad,label\n1,0,0\n", "only happy, sad, label. .* column probability:NAME or"),
        ("probability:a,probability:b,label\n", "probabilities are empty"),
        ("probability:a,probability:b,label\n0.5,0.5\n", "line 2 has 2 fields"),
        ("probability:a,label\n1,a\n\nmuch,a\n", "line 4 holds 'much' under probability:a"),
        ("probability:a,label\n\nnan,a\n", "probabilities hold NaN .* first in line 3"),
        ("probability:a,label\n1,a\n0.5,a\n", "do not sum to 1 in 1 row, first in line 3"),
        ("probability:a,label,label\n1,0,0\n", "names a column twice"),
        ("probability:a,votes:b,label\n1,0,0\n", "votes columns name b, but .* name a"),
        ("probability:a,votes:a,label\n1,-1,0\n", "votes are negative in line 2"),
        ("probability:a,label\n1,c\n", "label 'c' in line 2 is neither"),
        ("probability:a,label\n1,row 0\n", "label 'row 0' in line 2 is neither"),
        ("probability:a,label\n1,7\n", "must lie in 0 to 0, .* but line 2 holds 7"),
        (f"probability:a,label\n1,{'9' * 30}\n", "but line 2 holds 1e.30"),
        (f"probability:a,label\n1,{'9' * 5000}\n", "labels hold NaN or infinity"),
        ('probability:a,label\n"1,0\n', "not a readable CSV"),
    ],
)
def test_a_csv_that_cannot_be_measured_says_why_and_where(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(RankotomError, match=rf"predictions\.csv: .*{message}"):
        read_predictions(write_csv(tmp_path, text))


def test_a_file_in_another_encoding_is_an_error_without_traceback(tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    path.write_bytes(b"probability:joie \xe9t\xe9,label\n1,0\n")
    with pytest.raises(RankotomError, match="not a readable CSV"):
        read_predictions(path)


def test_a_file_that_is_no_archive_is_named_as_such(tmp_path: Path) -> None:
    path = tmp_path / "predictions.npz"
    path.write_bytes(b"plain text")
    with pytest.raises(RankotomError, match=r"not a \.npz archive"):
        read_predictions(path)
    with path.open("wb") as file:
        np.save(file, ROWS)
    with pytest.raises(RankotomError, match=r"not a \.npz archive"):
        read_predictions(path)


def test_a_damaged_archive_is_named_as_such(tmp_path: Path) -> None:
    path = write_npz(tmp_path, probabilities=ROWS, labels=LABELS)
    content = bytearray(path.read_bytes())
    start = content.index(b"NUMPY")
    for offset in range(start + 130, start + 150):
        content[offset] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(RankotomError, match="archive cannot be read"):
        read_predictions(path)


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_a_file_that_cannot_be_read_is_not_called_broken(tmp_path: Path, suffix: str) -> None:
    """Nobody can read the start of a process's memory, not even root."""
    path = tmp_path / f"predictions{suffix}"
    path.symlink_to("/proc/self/mem")
    with pytest.raises(RankotomError, match=rf"Cannot read .*predictions{suffix}: Input/output"):
        read_predictions(path)


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_a_folder_and_a_name_that_is_too_long_are_named_as_such(
    tmp_path: Path, suffix: str
) -> None:
    (tmp_path / f"folder{suffix}").mkdir()
    with pytest.raises(RankotomError, match="Is a directory"):
        read_predictions(tmp_path / f"folder{suffix}")
    with pytest.raises(RankotomError, match="File name too long"):
        read_predictions(tmp_path / f"{'n' * 300}{suffix}")


@pytest.mark.filterwarnings("error")
def test_a_label_too_large_for_an_integer_is_refused_without_a_warning(tmp_path: Path) -> None:
    path = write_npz(tmp_path, probabilities=ROWS, labels=[0.0, 1e30])
    with pytest.raises(RankotomError, match=r"but row 1 holds 1e\+30 "):
        read_predictions(path)


def test_an_unknown_suffix_and_a_missing_file_are_errors(tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match=r"expected a file that ends in \.npz or \.csv"):
        read_predictions(tmp_path / "predictions.pkl")
    with pytest.raises(RankotomError, match=r"Cannot read .*gone\.npz: No such file"):
        read_predictions(tmp_path / "gone.npz")


def member(shape: tuple[int, ...], kind: str = "<f8", content: bytes = b"") -> bytes:
    """A file of numpy that claims what is said, whatever it holds."""
    file = io.BytesIO()
    described = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, described)
    return file.getvalue() + content


def archive(folder: Path, **members: bytes) -> Path:
    path = folder / "predictions.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return path


TWO = member((2,), "<i8", bytes(16))


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"probabilities": member((10**7, 10**3), content=bytes(3 * 10**8))}, "bytes unpacked"),
        ({"probabilities": member((2**40, 3))}, "more than 16,777,216 values"),
        ({"probabilities": member((-1, 3))}, "claims to be"),
        ({"probabilities": member((2, 3))}, "claims to be"),
        ({"probabilities": member((2**62, 0))}, "cannot be read"),
        ({"probabilities": member((2, 2), "|O", bytes(32))}, "pickled"),
        ({"probabilities": member((2, 2), "|V8", bytes(32))}, "must be numbers"),
        ({"probabilities": member((1, 2000), content=bytes(16000))}, "name 2,000 classes"),
        ({"probabilities": b"\x93NUMPY\x01\x00\x40\x1f" + b"(" * 8000}, "header of probab"),
        ({"probabilities": member((2, 2), content=np.array([0.5] * 4).tobytes()),
          "labels": member((2,), "<U1", b"\xff" * 8)}, "not Unicode"),
    ],
)  # fmt: skip
def test_an_archive_that_claims_what_it_does_not_hold_is_refused_before_it_is_unpacked(
    tmp_path: Path, members: dict[str, bytes], words: str
) -> None:
    with pytest.raises(RankotomError, match=words):
        read_predictions(archive(tmp_path, **{"labels": TWO, **members}))


def test_members_that_nobody_asks_for_are_not_unpacked(tmp_path: Path) -> None:
    half = member((2, 2), content=np.full(4, 0.5).tobytes())
    path = archive(tmp_path, probabilities=half, labels=TWO, junk=bytes(600 * 1024**2))
    assert len(read_predictions(path)) == 2


def test_an_archive_of_thousands_of_members_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "predictions.npz"
    with zipfile.ZipFile(path, "w") as file:
        for number in range(2000):
            file.writestr(f"{number:0100}.npy", b"")
    with pytest.raises(RankotomError, match="too many members"):
        read_predictions(path)
