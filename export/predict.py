"""Predictions of a model file on a data set; needs no torch, so it also runs on a device."""

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from rich.progress import track

from calib.predictions import Predictions
from export.faces import LabelledFaces
from rankotom_edge.model.artifact import INPUT, LOGITS, PROBABILITIES, Artifact
from rankotom_edge.model.onnx_runtime import InferenceSession, open_session, run_session
from rankotom_edge.model.target import needs_exact_arithmetic

BATCH = 64


def predict(artifact: Artifact, faces: LabelledFaces, title: str | None = None) -> Predictions:
    session = open_session(artifact.path, optimise=not needs_exact_arithmetic(artifact.card))
    logits, probabilities = run_model(session, faces.pixels, (LOGITS, PROBABILITIES), title)
    return Predictions(
        probabilities=probabilities.astype(np.float64),
        labels=faces.labels,
        classes=artifact.card.labels,
        logits=logits.astype(np.float64),
        votes=faces.votes,
    )


def run_model(
    session: InferenceSession,
    pixels: NDArray[np.uint8],
    outputs: tuple[str, ...],
    title: str | None = None,
) -> tuple[NDArray[np.float32], ...]:
    """The named outputs for all faces, in batches; a title shows a progress bar on stderr."""
    console = Console(stderr=True)
    starts = track(
        range(0, len(pixels), BATCH),
        escape(title or ""),
        console=console,
        transient=True,
        disable=title is None or not console.is_terminal,
    )
    batches = [
        run_session(session, outputs, {INPUT: np.ascontiguousarray(pixels[start : start + BATCH])})
        for start in starts
    ]
    return tuple(np.concatenate(parts) for parts in zip(*batches, strict=True))
