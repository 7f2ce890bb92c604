import pytest

from rankotom_edge.bench import soak as soaking
from rankotom_edge.bench.soak import Footprint, soak


def test_the_footprint_is_that_of_this_process() -> None:
    before = Footprint.now()
    with open("/dev/null"):
        after = Footprint.now()
    assert after.handles == before.handles + 1
    assert before.threads >= 1
    assert before.megabytes > 10


def test_a_short_run_of_the_demo_reports_what_it_holds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soaking, "SETTLED", 30)
    monkeypatch.setattr(soaking, "MAX_GROWTH", 200.0)  # caches still fill after 30 frames
    soak(40)
    page = capsys.readouterr().out
    assert "40 frames of the demo" in page
    assert "memory after 30 frames" in page


def test_too_few_frames_to_judge_are_refused() -> None:
    with pytest.raises(SystemExit, match="5 frames are too few"):
        soak(5)
