"""Command lines: every option of every command, with values that nobody expects."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, get_args

from tests.fuzz.files import Command
from tests.fuzz.mutations import WORDS
from tests.fuzz.seeds import STILL

# Not --private, which traces a run for two minutes; nor what would wait for a person or a network.
LEFT_OUT = {"--private", "--help", "-h", "--debug"}
# Last on the line, so that they hold whatever came before: what is accepted soon ends.
ENDS: dict[str, Command] = {
    "camera": ["--frames", "2", "--seconds", "5", "--view", "none"],
    "replay": ["--fast", "--view", "none"],
    "bench": ["--frames", "1", "--source", "still.jpg"],  # too short, once all else is right
    "doctor": ["--timeout", "0.01"],
    "calibrate": ["--dry-run"],
    "analyze": ["--workers", "1"],
    "evaluate": ["--resamples", "10"],
    "drift": ["--resamples", "10"],
    "export": ["--resamples", "10"],
    "train": ["--list"],
}
OFTEN = ("camera", "evaluate", "drift", "replay", "models", "export", "calibrate", "train")
SELDOM = ("analyze", "doctor", "bench")
HOSTS = ("255.255.255.255", "224.0.0.1", "999.1.1.1", "127.0.0.1:80", "[::1", "a" * 300, "a b", "")
URLS = ("mqtt://127.0.0.1:1", "mqtt://", "mqtts://[", "http://127.0.0.1:1/x", "http://x:a",
        "rtsp://127.0.0.1:99999", "udp://", "csi://9", "file:///etc/hosts", "file://", "x://y",
        "127.0.0.1:1", "127.0.0.1:99999", "videotestsrc ! appsink", "0", "/dev/video9")  # fmt: skip


def arguments(random: Random, folder: Path, whole: Path) -> Command:
    import typer.main

    from rankotom_edge.cli.app import app

    seeds = _copy(whole, folder)
    commands: Any = typer.main.get_command(app)
    name = random.choice(OFTEN * 4 + SELDOM)
    given: Command = []
    values = _values(folder, seeds)
    for parameter in random.choices(commands.commands[name].params, k=random.choice((1, 1, 2, 4))):
        if parameter.param_type_name == "argument":
            given.append(random.choice(values))
            continue
        option = random.choice((*parameter.opts, *parameter.secondary_opts))
        if option in LEFT_OUT:
            continue
        given.append(option)
        if not parameter.is_flag or random.random() < 0.02:
            choices = [str(each) for each in _choices(parameter.type_descriptor.annotation)]
            given.append(random.choice([*values, *choices * 20]))
    if random.random() < 0.6:
        given += _usual(name, seeds)
    if random.random() < 0.05:
        random.shuffle(given)
    return [name, *given, *ENDS.get(name, [])]


def _copy(seeds: Path, folder: Path) -> Path:
    """So that an output may overwrite them; not of the run, which is large."""
    here = folder / "files"
    shutil.copytree(seeds, here, ignore=shutil.ignore_patterns("run", "home"))
    (here / "run").symlink_to(seeds / "run")
    shutil.copy(here / STILL, folder)
    return here


def _choices(annotation: Any) -> Iterator[object]:
    for each in get_args(annotation):
        yield from (each,) if isinstance(each, str) else _choices(each)


def _values(folder: Path, seeds: Path) -> Command:
    """Also things that are no ordinary files."""
    fifo, folder_name = folder / "fifo.npz", folder / "a folder"
    os.mkfifo(fifo)
    folder_name.mkdir()
    (folder / "zero.onnx").symlink_to("/dev/zero")
    (folder / "loop.csv").symlink_to(folder / "loop.csv")
    (folder / "empty.npz").touch()
    here = [str(each) for each in folder.iterdir() if each.name != "output.txt"]
    whole = [str(each) for each in seeds.iterdir() if each.name != "run"]
    words = [os.fsdecode(each.encode(errors="surrogateescape")) for each in _encodable()]
    return words + here * 3 + whole * 2 + ["demo", "ferplus-int8", "out.png", *HOSTS, *URLS]


def _encodable() -> Command:
    """What the system can pass on."""
    return [each for each in WORDS if "\0" not in each and "\ud800" not in each]


def _usual(name: str, seeds: Path) -> Command:
    """A command that would work."""
    model, npz = str(seeds / "model.onnx"), str(seeds / "predictions.npz")
    return {
        "camera": ["--source", str(seeds / STILL), "--model", model],
        "evaluate": [npz],
        "drift": [npz, npz],
        "replay": [str(seeds / "session")],
        "models": [model],
        "export": [str(seeds / "run"), "-o", "out.onnx", "--data", str(seeds / "data")],
        "calibrate": [str(seeds), "--model", model],
        "analyze": [str(seeds / "clip.avi"), "--model", model, "-o", "analysis"],
        "bench": ["--source", str(seeds / STILL), "--model", model],
    }.get(name, [])
