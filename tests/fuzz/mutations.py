"""Changes to valid inputs: bytes of any file, JSON with its structure, and single words."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

# Sizes and counts in binary headers, where a wrong one does most.
NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 2**24, 2**31 - 1, 2**31, 2**32 - 1)

# As text in a JSON file; Python could not write most of them.
HOSTILE_JSON = (
    "null", "true", "-1", "0", "1", "0.5", "2", "1e308", "1e999", "-1e999", "NaN", "-Infinity",
    "1e-400", "9007199254740993", "18446744073709551616", "9" * 400, "9" * 5000, '""', '"NaN"',
    '"1e999"', '"\\u001b[31m"', '"[/]"', '"[bold"', '"\\ud800"', '"\\u0000"', '"../../../x"',
    f'"{"x" * 100_000}"', "[]", "{}", "[[]]", '{"":null}', "[" * 100_000,
    "[" * 900 + "]" * 900, "[" * 100_000 + "]" * 100_000, '{"a":' * 5000 + "1" + "}" * 5000,
)  # fmt: skip

WORDS = (
    "", " ", "-", "--", "-1", "0", "00", "1e999", "nan", "inf", "-inf", "99999999999999999999",
    "0x10", "1_000", "\uff11", "1e-400", "\ud800", "\udcff", "\x1b[31m", "[/]", "[bold red]", "%s",
    "{}", "a" * 300, "a" * 5000, "é", "\u202e", "\n", "a\nb", "'", '"', "~", "~nouser/x", "~/x",
    "/", "..", "/dev/null/x", "/dev/zero", "/dev/full", "/dev/stdin", "/proc/self/mem", "*",
    "[", "**",
)  # fmt: skip


def damage(content: bytes, random: Random) -> bytes:
    """One to a few changes, near the start more often than elsewhere: headers are there."""
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 2, 4, 16))):
        if not changed:
            return random.randbytes(random.randrange(64))
        place = random.randrange(min(len(changed), random.choice((64, 512, len(changed)))))
        size = random.choice((1, 2, 4, 8, 64))
        match random.randrange(8):
            case 0:
                changed[place] ^= 1 << random.randrange(8)
            case 1:
                changed[place] = random.choice((0, 1, 0x7F, 0x80, 0xFF))
            case 2 | 3:
                width, order = random.choice((1, 2, 4)), random.choice(("big", "little"))
                number = random.choice(NUMBERS) % 256**width
                changed[place : place + width] = number.to_bytes(width, order)
            case 4:
                changed[place:place] = random.randbytes(size)
            case 5:
                del changed[place : place + size]
            case 6:
                changed[place:place] = changed[place : place + 8 * size] * random.choice((1, 2, 9))
            case 7:
                del changed[random.randrange(len(changed)) :]
    return bytes(changed)


def damage_json(document: Any, random: Random) -> bytes:
    """The document with values replaced, removed, swapped and repeated; sometimes its bytes too."""
    changed = copy.deepcopy(document)
    hostile: dict[str, str] = {}
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        changed = _replace_one(changed, random, hostile)
    text = json.dumps(changed)
    for name, value in hostile.items():
        text = text.replace(f'"{name}"', value)
    content = text.encode(errors="surrogatepass")
    return damage(content, random) if random.random() < 0.1 else content


def _replace_one(document: Any, random: Random, hostile: dict[str, str]) -> Any:
    places = list(_places(document))
    if not places:
        return document
    holder, key = random.choice(places)
    match random.randrange(8):
        case 0:
            del holder[key]
        case 1:
            other, name = random.choice(places)
            holder[key] = copy.deepcopy(other[name])
        case 2 if isinstance(holder, list):
            holder[key:key] = [holder[key]] * random.choice((1, 10, 1000))
        case 3 if isinstance(holder[key], int | float):
            holder[key] *= random.choice((-1, 0, 2, 1e6, 1e300))
        case _:
            name = f"@{len(hostile)}@"
            hostile[name] = random.choice(HOSTILE_JSON)
            holder[key] = name
    return document


def _places(node: Any) -> Any:
    """Every value inside, as what holds it and its key; short lists and long ones count alike."""
    if isinstance(node, dict):
        keys = list(node)
    elif isinstance(node, list):
        keys = list(range(len(node)))[:4]
    else:
        return
    for key in keys:
        yield node, key
        yield from _places(node[key])
