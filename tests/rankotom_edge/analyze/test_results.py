import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from calib.errors import RankotomError
from rankotom_edge.analyze.read_video import Analysis, Settings
from rankotom_edge.analyze.results import Results
from rankotom_edge.analyze.statistics import Statistics
from rankotom_edge.analyze.tables import make_table
from rankotom_edge.analyze.videos import Video

VIDEO = Video("/videos/a b/c.mp4", "a b/c.mp4", 10, 20)
ANALYSIS = Analysis(Statistics(frames=3), "breaks off", b"table")


@pytest.fixture
def results(tmp_path: Path, settings: Settings) -> Results:
    made = Results(tmp_path / "results", settings)
    made.add(VIDEO, ANALYSIS)
    return made


def test_what_was_added_is_found_again_by_the_next_run(
    results: Results, settings: Settings
) -> None:
    again = Results(results.folder, settings)
    assert again.find(VIDEO) == (Statistics(frames=3), "breaks off")
    assert again.table(VIDEO).read_bytes() == b"table"
    assert again.table(VIDEO).name == "c.mp4.csv"


def test_a_video_that_changed_or_is_new_is_read_again(results: Results) -> None:
    assert results.find(replace(VIDEO, modified=21)) is None
    assert results.find(replace(VIDEO, size=11)) is None
    assert results.find(replace(VIDEO, name="other.mp4")) is None


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        '{"size": 10, "modified": 20}',
        "[1]",
        "[" * 100_000,
        '{"size": 10, "modified": 20, "problem": null, "statistics": {"frames": {"a": 1}}}',
    ],
)
def test_a_damaged_record_is_as_good_as_none(results: Results, content: str) -> None:
    (record,) = results.folder.glob("records/**/*.json")
    record.write_text(content)
    assert results.find(VIDEO) is None


def test_a_table_that_was_deleted_is_made_again(results: Results) -> None:
    results.table(VIDEO).unlink()
    assert results.find(VIDEO) is None


def test_other_settings_are_refused_and_named(results: Results, settings: Settings) -> None:
    with pytest.raises(RankotomError, match="another fps and reach"):
        Results(results.folder, replace(settings, fps=5.0, reach="full"))
    with pytest.raises(RankotomError, match="another model and max-error-each"):
        Results(results.folder, replace(settings, sha256="0", max_error_each=0.1))


def test_results_of_another_version_are_refused(
    results: Results, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankotom_edge.analyze.results.__version__", "9.9")
    with pytest.raises(RankotomError, match="another version of rankotom-edge"):
        Results(results.folder, settings)


@pytest.mark.parametrize("name", ["_MG_1.MOV", "a/_MG_1.MOV", ".trash/_1.mp4"])
def test_pandas_reads_the_tables_of_all_names(
    name: str, tmp_path: Path, settings: Settings
) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    results = Results(tmp_path / "results", replace(settings, format="parquet"))
    table = make_table("parquet", {"video": str})
    table.add({"video": name})
    video = replace(VIDEO, name=name)
    results.add(video, replace(ANALYSIS, table=table.finish()))
    assert results.find(video) is not None
    assert pandas.read_parquet(results.folder / "tables")["video"].tolist() == [name]


def test_the_same_model_under_another_name_goes_on(results: Results, settings: Settings) -> None:
    Results(results.folder, replace(settings, model="/elsewhere/copy.onnx"))


def test_damaged_settings_are_an_error(results: Results, settings: Settings) -> None:
    (results.folder / "settings.json").write_text("{")
    with pytest.raises(RankotomError, match="not as rankotom-edge writes it"):
        Results(results.folder, settings)


def test_a_folder_that_is_a_file_is_an_error(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RankotomError, match="Cannot write to"):
        Results(tmp_path / "file", settings)


def test_only_the_owner_may_read_the_results(results: Results) -> None:
    assert results.folder.stat().st_mode & 0o777 == 0o700


def test_the_summary_is_json_and_replaced_as_a_whole(results: Results) -> None:
    for number in (1, 2):
        results.write_summary({"videos": number})
    assert json.loads((results.folder / "summary.json").read_text()) == {"videos": 2}
    assert sorted(os.listdir(results.folder)) == [
        "records",
        "settings.json",
        "summary.json",
        "tables",
    ]
