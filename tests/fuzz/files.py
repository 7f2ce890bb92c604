"""Damaged files, and the command that reads each."""

from __future__ import annotations

import json
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from random import Random

import numpy as np

from tests.fuzz.mutations import HOSTILE_JSON, NUMBERS, WORDS, damage, damage_json
from tests.fuzz.seeds import STILL

Command = list[str]
Change = Callable[[bytes, Random], bytes]

CAMERA = ["--view", "none", "--fast", "--frames", "4"]
OPERATORS = ("Loop", "If", "Scan", "ConstantOfShape", "Expand", "Tile", "Resize", "Range", "Pad")
DTYPES = ("<f8", "<f4", "<f2", "<i8", "<u1", "|b1", "<U4", "|S3", "|O", "|V8", "<c16", "<M8[s]",
          ">f8", "<U0", "<U99999999")  # fmt: skip


def models(random: Random, folder: Path, seeds: Path) -> Command:
    path = folder / "model.onnx"
    content = (seeds / path.name).read_bytes()
    change: Change = random.choice(
        (damage, _damage_card, _damage_card, _damage_graph, _damage_graph)
    )
    path.write_bytes(change(content, random))
    if random.random() < 0.5:
        return ["models", str(path), *random.choice(([], ["--json", "-"]))]
    source = str(seeds / STILL)
    return ["camera", "--model", str(path), "--source", source, *CAMERA]


def _damage_card(content: bytes, random: Random) -> bytes:
    import onnx

    model = onnx.load_from_string(content)
    entry = random.choice(model.metadata_props)
    try:
        document = json.loads(entry.value)
    except ValueError:
        entry.value = random.choice((*WORDS, *HOSTILE_JSON)).encode(errors="replace").decode()
    else:
        if isinstance(document, dict | list):
            entry.value = damage_json(document, random).decode(errors="replace")
        else:
            entry.value = random.choice((*WORDS, *HOSTILE_JSON)).encode(errors="replace").decode()
    if random.random() < 0.05:
        model.metadata_props.append(random.choice(model.metadata_props))
    return bytes(model.SerializeToString())


def _damage_graph(content: bytes, random: Random) -> bytes:
    import onnx
    from onnx import numpy_helper

    model = onnx.load_from_string(content)
    graph = model.graph
    for _ in range(random.choice((1, 1, 2, 4))):
        node, constant = random.choice(graph.node), random.choice(graph.initializer)
        value = random.choice((*graph.input, *graph.output))
        match random.randrange(9):
            case 0:
                used = [each.op_type for each in graph.node]
                node.op_type = random.choice((*OPERATORS, *used))
            case 1 if node.attribute:
                attribute = random.choice(node.attribute)
                attribute.i = random.choice((-1, 0, *NUMBERS))
                for place in range(len(attribute.ints)):
                    attribute.ints[place] = random.choice((-1, 0, 1, *NUMBERS))
            case 2:
                numbers = numpy_helper.to_array(constant).copy()
                wrong = random.choice((np.nan, np.inf, -1e38, 1e38, 0, -1))
                with np.errstate(all="ignore"):
                    numbers.flat[random.randrange(max(1, numbers.size)) :] = wrong
                constant.CopyFrom(numpy_helper.from_array(numbers, constant.name))
            case 3:
                del constant.dims[:]
                constant.dims.extend(random.choices(NUMBERS, k=random.randrange(4)))
            case 4:
                other = random.choice(graph.node)
                if node.input and other.output:
                    node.input[random.randrange(len(node.input))] = random.choice(other.output)
            case 5:
                graph.node.remove(node)
            case 6:
                dimension = random.choice(value.type.tensor_type.shape.dim)
                dimension.dim_value = random.choice((0, 1, 3, 7, 9, *NUMBERS))
            case 7:
                value.name = random.choice((*WORDS, "faces")).encode(errors="replace").decode()
            case 8:
                model.opset_import[0].version = random.choice((-1, 0, 1, 7, 12, 99, 2**31))
        if not graph.node:
            break
    return bytes(model.SerializeToString())


def npz(random: Random, folder: Path, seeds: Path) -> Command:
    path = folder / "predictions.npz"
    content = (seeds / path.name).read_bytes()
    change: Change = random.choice((damage, _damage_npz, _damage_npz))
    path.write_bytes(change(content, random))
    return _measure(path, random, seeds)


def _damage_npz(content: bytes, random: Random) -> bytes:
    """Members that are whole files of numpy, or nearly."""
    with np.load(BytesIO(content)) as saved:
        arrays = dict(saved)
    members = {name: _member(array) for name, array in arrays.items()}
    for _ in range(random.choice((1, 1, 2))):
        name = random.choice([*members, "another"])
        array = arrays.get(name, np.zeros(3))
        match random.randrange(5):
            case 0:
                members.pop(name, None)
            case 1:
                changed = array.copy()
                if changed.size and changed.dtype.kind in "if":
                    wrong = random.choice((-1, 0, 1, 7, 8, 255, 2**62, np.nan, np.inf, 1e308))
                    with np.errstate(all="ignore"):
                        chosen = random.choice((slice(0, 1), slice(None), slice(None, None, 7)))
                        changed.reshape(-1)[chosen] = np.float64(wrong).astype(changed.dtype)
                members[name] = _member(changed)
            case 2:
                shape = tuple(random.choices((0, 1, 8, 60, *NUMBERS, 2**62), k=random.randrange(4)))
                members[name] = _member(array, shape, random.choice((array.dtype.str, *DTYPES)))
            case 3:
                members[name] = _member(
                    random.choice(
                        (array[:1], array[::-1], array.T, array * 0)
                        if array.dtype.kind in "if"
                        else (array[:1], array.T)
                    )
                )
            case 4:
                members[name] = damage(_member(array), random)
    archive = BytesIO()
    kind = random.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2))
    with zipfile.ZipFile(archive, "w", kind) as file:
        for name, member in members.items():
            file.writestr(f"{name}.npy", member)
        if random.random() < 0.05:
            file.writestr("bomb.npy", bytes(100_000_000))
    return archive.getvalue()


def _member(array: np.ndarray, shape: tuple[int, ...] | None = None, kind: str = "") -> bytes:
    content = BytesIO()
    np.lib.format.write_array_header_1_0(
        content,
        {
            "descr": kind or array.dtype.str,
            "fortran_order": False,
            "shape": array.shape if shape is None else shape,
        },
    )
    return content.getvalue() + array.tobytes()


def csvs(random: Random, folder: Path, seeds: Path) -> Command:
    path = folder / "predictions.csv"
    content = (seeds / path.name).read_bytes()
    if random.random() < 0.4:
        path.write_bytes(damage(content, random))
        return _measure(path, random, seeds)
    lines = [line.split(",") for line in content.decode().splitlines()]
    for _ in range(random.choice((1, 1, 2, 4))):
        row = random.choice((0, random.randrange(len(lines))))
        place = random.randrange(len(lines[row]))
        match random.randrange(4):
            case 0 | 1:
                lines[row][place] = random.choice((*WORDS, "probability:", "logit:x", "label"))
            case 2:
                lines[row][place:place] = lines[row][place : place + 1] * random.choice((1, 3, 999))
            case 3:
                del lines[row][place]
                lines[row] = lines[row] or [""]
    text = random.choice(("\n", "\r\n", "\r")).join(map(",".join, lines))
    path.write_bytes(text.encode(random.choice(("utf-8", "utf-8", "utf-16")), "surrogatepass"))
    return _measure(path, random, seeds)


def _measure(path: Path, random: Random, seeds: Path) -> Command:
    few = ["--resamples", "10", "--json", "report.json"]
    if random.random() < 0.2:
        other = str(seeds / "predictions.npz")
        return ["drift", *random.sample([str(path), other], 2), *few]
    return ["evaluate", str(path), *few, *(["--plot", "x.png"] if random.random() < 0.05 else [])]


def sessions(random: Random, folder: Path, seeds: Path) -> Command:
    video = random.random() < 0.5
    parent = seeds / ("session-with-video" if video else "session")
    (recorded,) = parent.iterdir()
    session = folder / recorded.name
    shutil.copytree(recorded, session)
    name = random.choice(("metadata.json", "readings.jsonl", "readings.jsonl", "video.mjpeg"))
    path = session / (name if video or name != "video.mjpeg" else "metadata.json")
    content = path.read_bytes()
    if path.suffix == ".mjpeg" or random.random() < 0.15:
        path.write_bytes(damage(content, random))
    elif path.suffix == ".json":
        path.write_bytes(damage_json(json.loads(content), random))
    else:
        lines = content.splitlines()
        place = random.randrange(len(lines))
        lines[place] = damage_json(json.loads(lines[place]), random)
        path.write_bytes(b"\n".join(lines) + b"\n")
    if video and random.random() < 0.3:
        return ["replay", str(session), "--model", str(seeds / "model.onnx")]
    view = random.choice(("none", "terminal"))
    return ["replay", str(session), "--fast", "--view", view]


def calibrations(random: Random, folder: Path, seeds: Path) -> Command:
    """Of a user: the calibration and the labels in their own folder."""
    shutil.copytree(seeds / "home", folder / "home")
    (path,) = (folder / "home").rglob("*.calibration.json")
    content = path.read_bytes()
    whole = random.random() < 0.2
    path.write_bytes(damage(content, random) if whole else damage_json(json.loads(content), random))
    if random.random() < 0.3:
        return ["calibrate", "--list"]
    model = ["--model", str(seeds / "model.onnx")]
    return ["camera", *model, "--source", str(seeds / STILL), *CAMERA]


def checkpoints(random: Random, folder: Path, seeds: Path) -> Command:
    run = folder / "run"
    run.mkdir()
    path = run / "checkpoint.safetensors"
    content = (seeds / "run" / path.name).read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header, rest = content[8 : 8 + size], content[8 + size :]
    match random.randrange(4):
        case 0:
            path.write_bytes(damage(content, random))
        case 1:
            changed = damage_json(json.loads(header), random)
            path.write_bytes(struct.pack("<Q", len(changed)) + changed + rest)
        case _:
            document = json.loads(header)
            metadata = document["__metadata__"]
            key = random.choice(list(metadata))
            try:
                saved = json.loads(metadata[key])
                metadata[key] = damage_json(saved, random).decode(errors="replace")
            except (ValueError, TypeError):
                metadata[key] = random.choice(WORDS)
            if key != "recipe" and random.random() < 0.7:
                metadata[key] = random.choice((*WORDS, *HOSTILE_JSON))
            changed = json.dumps(document).encode()
            path.write_bytes(struct.pack("<Q", len(changed)) + changed + rest)
    return ["export", str(run), "-o", "out.onnx", "--data", str(seeds / "data")]


def pictures(random: Random, folder: Path, seeds: Path) -> Command:
    seed = random.choice([*sorted(seeds.glob("still.*")), seeds / "progressive.jpg",
                          seeds / "grey.png", seeds / "wide.tiff"])  # fmt: skip
    content = seed.read_bytes()
    made = _damage_png(content, random) if seed.suffix == ".png" else damage(content, random)
    name = f"picture{random.choice((seed.suffix, seed.suffix, seed.suffix, '.png', '.jpg'))}"
    (folder / name).write_bytes(made)
    return ["camera", "--model", str(seeds / "model.onnx"), "--source", str(folder / name), *CAMERA]


def _damage_png(content: bytes, random: Random) -> bytes:
    """With right checksums, so that what is inside is read."""
    chunks, at = [], 8
    while at < len(content):
        (size,) = struct.unpack(">I", content[at : at + 4])
        chunks.append((content[at + 4 : at + 8], content[at + 8 : at + 8 + size]))
        at += size + 12
    place = random.choice((0, random.randrange(len(chunks))))
    kind, inside = chunks[place]
    match random.randrange(4):
        case 0 | 1:
            chunks[place] = kind, damage(inside, random)
        case 2:
            chunks.insert(place, chunks[random.randrange(len(chunks))])
        case 3:
            chunks[place] = random.choice((b"IDAT", b"PLTE", b"tRNS", b"iCCP", b"zTXt")), inside
    packed = b"".join(
        len(inside).to_bytes(4, "big")
        + kind
        + inside
        + zlib.crc32(kind + inside).to_bytes(4, "big")
        for kind, inside in chunks
    )
    return content[:8] + packed


def videos(random: Random, folder: Path, seeds: Path) -> Command:
    seed = random.choice(sorted(seeds.glob("clip.*")))
    path = folder / f"clip{random.choice((seed.suffix, seed.suffix, seed.suffix, '.mp4', '.gif'))}"
    path.write_bytes(damage(seed.read_bytes(), random))
    return ["camera", "--model", str(seeds / "model.onnx"), "--source", str(path), *CAMERA]
