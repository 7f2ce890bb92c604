"""Why an import failed: a shared library of the system, or a package, is missing; and the command
that installs it."""

import ctypes
import re
import sys

# Shared libraries that the OpenCV and MediaPipe wheels expect, and their Debian packages.
LIBRARIES = {
    "libGL.so.1": "libgl1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libxcb.so.1": "libxcb1",
    "libSM.so.6": "libsm6",
    "libEGL.so.1": "libegl1",
    "libGLESv2.so.2": "libgles2",
}
OURS = {"calib", "export", "rankotom_edge", "train"}
PACKAGES = {"cv2": "opencv-contrib-python", "PIL": "pillow"}  # where the module has another name


def missing_libraries() -> tuple[str, ...]:
    """All at once, so that one command mends them. The wheels for macOS and Windows need none."""
    if sys.platform != "linux":
        return ()
    return tuple(name for name in LIBRARIES if not _loads(name))


def install_command(libraries: tuple[str, ...]) -> str | None:
    packages = dict.fromkeys(LIBRARIES[name] for name in libraries if name in LIBRARIES)
    return f"sudo apt-get install {' '.join(packages)}" if packages else None


def named_library(message: str) -> str | None:
    """The shared library that an error of the loader names."""
    found = re.search(r"(\S+\.so[.\d]*): cannot open shared object file", message)
    return None if found is None else found[1]


def explain_import(error: ImportError) -> str | None:
    """In one line, with the command that mends it; None if it is not the user's to mend."""
    library = named_library(str(error))
    if library is not None:
        missing = tuple(dict.fromkeys((library, *missing_libraries())))
        command = install_command(missing)
        advice = f"Install what is missing: {command}" if command else "Install it."
        return f"The system lacks {', '.join(missing)}. {advice}"
    if "DLL load failed" in str(error):
        return f"{error}. Install Microsoft's Visual C++ Redistributable for x64, and try again."
    module = (error.name or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or not module or module in OURS:
        return None
    return (
        f"The package {module} is not installed. Install it: pip install -c constraints.txt "
        f"{PACKAGES.get(module, module)}"
    )


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
