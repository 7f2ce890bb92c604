import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="session")
def load_script() -> Callable[[str], ModuleType]:
    """Load a script of docs/, which is not a package."""

    def load(name: str) -> ModuleType:
        specification = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
        assert specification is not None
        assert specification.loader is not None
        script = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(script)
        return script

    return load
