"""Reads what was not read before, and sums up everything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rankotom_edge.analyze.progress import ProgressBar
from rankotom_edge.analyze.read_video import Failure, Outcome, Settings, Task
from rankotom_edge.analyze.results import Results
from rankotom_edge.analyze.statistics import Statistics, total
from rankotom_edge.analyze.summary import Summary, summarise
from rankotom_edge.analyze.videos import Video
from rankotom_edge.model.card import MeasuredModel

# Gives the steps of the tasks: how far one is, from 0 to 1, or how it ended.
Work = Callable[[Sequence[Task]], Iterable[tuple[Task, float | Outcome]]]


def analyze(
    videos: Sequence[Video],
    settings: Settings,
    results: Results,
    work: Work,
    model: MeasuredModel,
    bar: ProgressBar,
) -> Summary:
    found: dict[str, tuple[Statistics, str | None]] = {}
    failures: dict[str, Failure] = {}
    tasks = []
    for video in videos:
        earlier = results.find(video)
        if earlier is None:
            tasks.append(Task(video, settings))
        else:
            found[video.name] = earlier
    # Long ones first, so that the workers are ready at about the same time.
    tasks.sort(key=lambda task: -task.video.size)
    bar.start([task.video for task in tasks], finished=len(found))
    for task, step in work(tasks) if tasks else ():
        video = task.video
        if isinstance(step, float):
            bar.update(video, step)
            continue
        if isinstance(step, Failure):
            failures[video.name] = step
        else:
            results.add(video, step)
            found[video.name] = step.statistics, step.problem
        bar.finish(video)
    # In the order of the videos, whoever was ready first: the sums are the same in every run.
    names = [video.name for video in videos]
    found = {name: found[name] for name in names if name in found}
    failures = {name: failures[name] for name in names if name in failures}
    return summarise(found, failures, total(each for each, _ in found.values()), model)
