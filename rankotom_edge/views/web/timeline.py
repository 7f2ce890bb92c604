"""The timeline of the page: the headlines of the last three minutes, a lane for each face."""

from itertools import groupby

from rankotom_edge.views.history import History

SECONDS = 180


def make_timeline() -> History:
    return History(SECONDS, step=1.0)


def timeline_json(timeline: History) -> list[dict[str, object]]:
    """For each face its runs of equal headlines: first second, length, emotions, and whether it was
    unsure. Second 0 is the oldest."""
    lanes: list[dict[str, object]] = []
    for track in timeline.tracks:
        runs: list[list[object]] = []
        first = 0
        for moment, same in groupby(timeline.lane(track)):
            length = len(list(same))
            if moment is not None:
                runs.append([first, length, list(moment.emotions), moment.unsure])
            first += length
        if runs:
            lanes.append({"track": track, "runs": runs})
    return lanes
