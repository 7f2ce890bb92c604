"""Valid inputs of every kind, small, that the program itself wrote: what is damaged later."""

from __future__ import annotations

import csv
import json
import os
import sys
from datetime import datetime, timezone
from pathlib import Path

import cv2
import numpy as np
import PIL.Image

from calib.emotions import EMOTIONS
from tests.fuzz.processes import run_program

SIZE, PICTURE = 32, 240
LABELS = 8
STILL = "still.jpg"


def write_seeds(folder: Path) -> None:
    _write_pictures(folder)
    _write_predictions(folder)
    _write_data(folder / "data")
    _write_model_and_run(folder)
    os.environ["XDG_DATA_HOME"] = str(folder / "home")
    _write_calibration(folder / "model.onnx")
    camera = ["camera", "--model", str(folder / "model.onnx"), "--view", "none", "--fast"]
    for name, more in (("session", []), ("session-with-video", ["--record-video"])):
        source = ["--source", str(folder / "clip.avi"), "--record", str(folder / name)]
        if run_program([*camera, *source, *more]) != 0:
            raise RuntimeError(f"no {name} was recorded")


def _write_pictures(folder: Path) -> None:
    from rankotom_edge.sources.demo import load_portrait

    portrait = cv2.resize(load_portrait(), (PICTURE, PICTURE))
    for suffix in ("png", "jpg", "bmp", "webp", "tiff", "ppm"):
        cv2.imwrite(str(folder / f"still.{suffix}"), portrait)
    cv2.imwrite(str(folder / "grey.png"), cv2.cvtColor(portrait, cv2.COLOR_BGR2GRAY))
    cv2.imwrite(str(folder / "wide.tiff"), portrait.astype(np.uint16) * 257)
    progressive = [cv2.IMWRITE_JPEG_PROGRESSIVE, 1]
    cv2.imwrite(str(folder / "progressive.jpg"), portrait, progressive)
    moved = [np.roll(portrait, 4 * step, axis=1) for step in range(5)]
    for name, code in (("clip.avi", "MJPG"), ("clip.mp4", "mp4v"), ("clip.mkv", "mp4v")):
        writer = cv2.VideoWriter(
            str(folder / name), cv2.VideoWriter_fourcc(*code), 10.0, (PICTURE, PICTURE)
        )
        for image in moved:
            writer.write(image)
        writer.release()
    first, *rest = (PIL.Image.fromarray(image[..., ::-1]).quantize() for image in moved)
    first.save(folder / "clip.gif", save_all=True, append_images=rest, duration=100)


def _write_predictions(folder: Path) -> None:
    random = np.random.default_rng(0)
    logits = random.normal(size=(60, LABELS))
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = random.integers(0, LABELS, 60)
    votes = random.multinomial(10, probabilities)
    np.savez_compressed(
        folder / "predictions.npz", probabilities=probabilities, logits=logits, labels=labels,
        votes=votes, classes=np.array(EMOTIONS),
    )  # fmt: skip
    with (folder / "predictions.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        columns = [f"{kind}:{name}" for kind in ("probability", "votes") for name in EMOTIONS]
        writer.writerow([*columns, "label"])
        for row in range(60):
            writer.writerow([*probabilities[row], *votes[row], EMOTIONS[labels[row]]])


def _write_data(root: Path) -> None:
    """FERPlus's layout, with faces of noise."""
    random = np.random.default_rng(0)
    (root / "FERPlus/data/FER2013Valid").mkdir(parents=True)
    rows: list[list[object]] = [["Usage", "Image name", *EMOTIONS, "unknown", "NF"]]
    for number in range(40):
        name = f"fer{number:07}.png"
        picture = random.integers(0, 256, (48, 48), dtype=np.uint8)
        cv2.imwrite(str(root / "FERPlus/data/FER2013Valid" / name), picture)
        votes = random.multinomial(10, random.dirichlet(np.full(LABELS, 0.5)))
        rows.append(["PublicTest", name, *votes.tolist(), 0, 0])
    with (root / "FERPlus/fer2013new.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def _write_model_and_run(folder: Path) -> None:
    import torch

    from calib.evaluation import Evaluation
    from export.artifact_writer import write_artifact
    from export.to_onnx import to_onnx
    from rankotom_edge.faces.crop import FERPLUS_FRAMING
    from rankotom_edge.model.card import CropContract, FacesUsed, ModelCard
    from train.checkpoint import write_checkpoint
    from train.networks import BasicBlock, ResNet, build_network, edge_stem
    from train.recipe import Recipe

    torch.manual_seed(0)
    torch.set_num_threads(1)
    network = ResNet(BasicBlock, (1, 1, 1, 1), (4, 4, 8, 8), stem=edge_stem(1, 4), classes=LABELS)
    shares = dict.fromkeys(("accuracy", "ece", "aece", "mce"), 0.25)
    bins = [
        {"low": each / 15, "high": (each + 1) / 15, "count": 2, "confidence": (each + 0.5) / 15,
         "accuracy": 0.5}
        for each in range(15)
    ]  # fmt: skip
    intervals = {name: [0.2, 0.3] for name in shares}
    measured = {"n": 30, **shares, "intervals": intervals, "bins": bins}
    card = ModelCard(
        name="fuzz",
        labels=EMOTIONS,
        crop=CropContract(SIZE, 1, FERPLUS_FRAMING),
        mirror=True,
        temperature=0.7,
        precision="fp32",
        recipe={"name": "made-up", "epochs": 3},
        parent="0" * 64,
        calibrated_on=(FacesUsed("noise/choose", 20, "1" * 64),),
        measured_on=FacesUsed("noise/report", 20, "2" * 64),
        evaluation=Evaluation.from_json(measured),
        licence="For tests.",
        created_by="rankotom-edge tests",
    )
    model = to_onnx(network.eval(), card.crop, mirror=True)
    write_artifact(model, card, folder / "model.onnx")
    recipe = json.loads(Recipe(name="fuzz", network="edge").as_json())
    named = build_network("edge", channels=1, classes=LABELS, dropout=0.0)
    weights = {f"averaged.{key}": value for key, value in named.state_dict().items()}
    (folder / "run").mkdir()
    write_checkpoint(folder / "run/checkpoint.safetensors", recipe, 3, weights)


def _write_calibration(model: Path) -> None:
    from calib.rater import vote_matrix
    from calib.temperature import softmax
    from calib.try_calibration import try_calibration
    from rankotom_edge.model.artifact import read_artifact
    from rankotom_edge.model.own_calibration import SavedCalibration, Usual, save_calibration

    artifact, random = read_artifact(model), np.random.default_rng(0)
    logits = 4 * random.normal(size=(150, LABELS))
    truth = [random.choice(LABELS, p=each) for each in softmax(logits / 2)]
    matrix = vote_matrix(LABELS)
    votes = np.stack([random.multinomial(2, matrix[each]) for each in truth])
    trial = try_calibration(logits, votes, np.arange(150))
    calibration = SavedCalibration(
        model=artifact.card.name,
        sha256=artifact.sha256,
        classes=artifact.card.labels,
        source=STILL,
        created=datetime(2026, 11, 18, 10, 42, tzinfo=timezone.utc),
        trial=trial,
        usual=Usual.of(trial.calibration.apply(logits)),
    )
    save_calibration(calibration, artifact)
    print(trial.verdict, file=sys.stderr)
