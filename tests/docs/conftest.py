import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="session")
def load_script() -> Callable[[str], ModuleType]:
    """Load a script of docs/, which is not a package, as Python does when it starts one there."""
    sys.path.insert(0, str(DOCS))
    return importlib.import_module
