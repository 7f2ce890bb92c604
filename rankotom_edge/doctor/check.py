"""What is tried, what was found, and what a person reads of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

# The main job, faces read with the default model from some source, fails without what is needed.
Level = Literal["needed", "optional"]

# What mends the providers and the model files alike.
ONNX_RUNTIME = "pip install --force-reinstall 'onnxruntime>=1.20'"


@dataclass(frozen=True)
class Trial:
    """A function to be called where it may hang or crash: in a process of its own."""

    name: str
    function: str  # "package.module:name"; it takes the argument and gives a Finding, or Trials
    argument: str = ""
    level: Level = "optional"
    fix: str | None = None  # what mends it where it gives no better answer


@dataclass(frozen=True)
class Finding:
    ok: bool
    detail: str
    fix: str | None = None


@dataclass(frozen=True)
class Check:
    name: str
    ok: bool
    detail: str
    fix: str | None  # the command that mends it; None where all is well, or nothing can be done
    ms: float
    level: Level

    def as_json(self) -> dict[str, object]:
        return asdict(self) | {"ms": round(self.ms, 1)}


def healthy(checks: Iterable[Check]) -> bool:
    return all(check.ok for check in checks if check.level == "needed")
