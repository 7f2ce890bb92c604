"""How many faces are found: in the photographs of UTKFace and LFW, and how many people in a video.

    python -m train.experiments.found_faces --video VIDEO

UTKFace's faces fill the picture, LFW's have room around them. A video with something that is not a
face, such as a printed skull, shows whether the detector's mistakes get a number.
"""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track

from calib.errors import exit_on_error
from calib.intervals import share_interval
from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.faces.tracker import Tracker
from rankotom_edge.frame import Frame
from rankotom_edge.sources import open_source
from train.data.crops import read_picture
from train.data.datasets import data_folder, load_dataset
from train.data.utkface import load_utkface

WAIT = 10.0  # seconds for a frame of a video


def print_found(name: str, files: list[Path], tracker: Tracker) -> None:
    shown = track(files, name, console=Console(stderr=True), transient=True)
    frames = (Frame(read_picture(file), index=0, time=0.0, captured=0.0) for file in shown)
    found = sum(bool(tracker.update(frame)) for frame in frames)
    interval = share_interval(found, len(files))
    print(
        f"{name}: a face found in {found / len(files):.1%} of {len(files):,} photographs "
        f"({interval.low:.1%} to {interval.high:.1%})"
    )


def print_people(video: Path, tracker: Tracker) -> None:
    frames, numbers, lowest = 0, set(), 0.0
    with open_source(str(video)) as source:
        while (frame := source.read(WAIT)) is not None:
            frames += 1
            for tracked in tracker.update(frame):
                numbers.add(tracked.track)
                lowest = max(lowest, tracked.face.centre[1] / frame.image.shape[0])
    print(
        f"{video.name}: {len(numbers)} numbered in {frames:,} frames, the lowest face's centre at "
        f"{lowest:.0%} of the height"
    )


def main(
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
    video: Annotated[
        list[Path] | None, typer.Option(help="Also count the people of this video.")
    ] = None,
    every: Annotated[int, typer.Option(min=1, help="Use only every n-th photograph.")] = 1,
) -> None:
    """Print the share of photographs in which a face is found, and the people of videos."""
    folder = data_folder(data)
    photographs = {
        "UTKFace": [person.file for person in load_utkface(folder)],
        "LFW": list(load_dataset("lfw", folder, "train").files),
    }
    with FaceDetector() as near, FaceDetector("full") as far:
        for name, files in photographs.items():
            print_found(name, files[::every], Tracker(near.detect, far=far.detect, stills=True))
        for one in video or ():
            print_people(one, Tracker(near.detect, far=far.detect))


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
