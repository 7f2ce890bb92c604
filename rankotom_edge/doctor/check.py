"""A probe, what it finds, and the check that is reported."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

# Reading faces with the default model fails without what is "needed".
Level = Literal["needed", "optional"]

# The fix for both the providers and the model files.
ONNX_RUNTIME = "pip install --force-reinstall 'onnxruntime>=1.20'"


@dataclass(frozen=True)
class Probe:
    """A function that may hang or crash, so it is called in a process of its own."""

    name: str
    function: str  # "package.module:name"; takes the argument, returns a Finding or more Probes
    argument: str = ""
    level: Level = "optional"
    fix: str | None = None  # used when the function gives no better one


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
    fix: str | None  # a command or advice; None if the check passed or nothing can be done
    ms: float
    level: Level

    def as_json(self) -> dict[str, object]:
        return asdict(self) | {"ms": round(self.ms, 1)}


def is_healthy(checks: Iterable[Check]) -> bool:
    return all(check.ok for check in checks if check.level == "needed")
