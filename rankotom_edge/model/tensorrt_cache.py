"""The cache of TensorRT engines: which file holds the engine of a model on a device.

An engine works only for one model file, one GPU and one version of TensorRT. Neither TensorRT nor
CUDA is needed to search the cache.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from calib.errors import RankotomError
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.embedded import INT8_S8S8

ENGINES = Path("~/.cache/rankotom-edge/engines")
SUFFIX = ".engine"
SEPARATOR = "+"  # between the parts of a file name; quote() escapes it inside them
MAX_PART = 100  # characters; a GPU's name may have 255 bytes, and each may become three characters


@dataclass(frozen=True)
class Device:
    tensorrt: str  # its version
    gpu: str

    def __str__(self) -> str:
        return f"TensorRT {self.tensorrt} on {self.gpu}"


def engines_folder(given: Path | None = None) -> Path:
    return (given or ENGINES).expanduser()


def engine_path(artifact: Artifact, device: Device, folder: Path) -> Path:
    """Named after all that an engine depends on: if one part changes it must be built again."""
    parts = (artifact.sha256, artifact.card.precision, device.tensorrt, device.gpu)
    return folder / f"{SEPARATOR.join(map(_file_name_part, parts))}{SUFFIX}"


def timing_path(device: Device, folder: Path) -> Path:
    """Where a build saves its timings, to speed up the next build on the same device."""
    parts = ("timing", _file_name_part(device.tensorrt), _file_name_part(device.gpu))
    return folder / f"{SEPARATOR.join(parts)}.cache"


def engines_of(artifact: Artifact, folder: Path) -> tuple[Path, ...]:
    """The engines of this model file, for any device."""
    others = SEPARATOR.join("***")
    model = _file_name_part(artifact.sha256)
    return tuple(sorted(folder.glob(f"{model}{SEPARATOR}{others}{SUFFIX}")))


def has_engines(folder: Path) -> bool:
    """Of this model file or another, such as an older one of the same name."""
    return any(folder.glob(f"*{SUFFIX}"))


def find_engine(artifact: Artifact, device: Device, folder: Path) -> Path:
    """The engine of this file for this device; otherwise an error that says what was found."""
    path = engine_path(artifact, device, folder)
    if path.is_file():
        return path
    stale = ", ".join(str(_device_of(found)) for found in engines_of(artifact, folder))
    if stale:
        raise RankotomError(
            f"The TensorRT engine of {artifact.card.name} is stale: built for {stale}; this is "
            f"{device} ({how_to_build(artifact)})."
        )
    raise no_engine(artifact, folder)


def no_engine(artifact: Artifact, folder: Path) -> RankotomError:
    others = f" as it is now; those in {folder} are of other model files"
    named = f"{artifact.card.name}{others if has_engines(folder) else ''}"
    return RankotomError(f"There is no TensorRT engine of {named} ({how_to_build(artifact)}).")


def how_to_build(artifact: Artifact) -> str:
    card = artifact.card
    if card.precision == "int8" and "tensorrt" not in card.targets:
        way = (
            f"rankotom-edge export --tensorrt, then camera --model {INT8_S8S8}"
            if artifact.embedded
            else "rankotom-edge export --int8 --tensorrt, of its FP32 parent"
        )
        return f"TensorRT takes no file that is made for {' and '.join(card.targets)}: {way}"
    return f"to build it: rankotom-edge export --tensorrt {artifact.cli_name}"


def _device_of(path: Path) -> Device:
    _, _, version, gpu = path.name.removesuffix(SUFFIX).split(SEPARATOR)
    return Device(unquote(version), unquote(gpu))


def _file_name_part(text: str) -> str:
    """Valid on any file system, and different for different texts."""
    quoted = quote(text, safe="")
    if len(quoted) <= MAX_PART:
        return quoted
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return f"{quoted[: MAX_PART - len(digest)]}{digest}"
