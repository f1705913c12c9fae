"""The job's code as it was when its identity was computed: files may change under a running replica.

On Kubernetes a ConfigMap's files are replaced in place, and Spark starts Python workers at any time: they would import what
is there then. So the code is kept in an archive that comes first on the path of the driver and of all workers. A module in
it takes itself for the file that it was read from, and finds what lies beside that.
"""

import ast
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from tandem.manifest import Code, Manifest

NAME: Final = "code.zip"

_MODULE: Final = """import importlib.util
__file__ = {path!r}
__spec__ = importlib.util.spec_from_file_location(__name__, __file__)
__loader__ = __spec__.loader
{more}del importlib
exec(compile({content!r}, __file__, "exec", dont_inherit=True))
"""
_PACKAGE: Final = "__path__.append({folder!r})\n"


def folders_of(manifest: Manifest) -> list[Path]:
    """Where the job's modules are searched for: beside its file, and beside the manifest."""
    file = manifest.spec.job.file
    folders = [] if file is None else [manifest.resolve(file).parent]
    return folders if manifest.base in folders else [*folders, manifest.base]


def keep(manifest: Manifest, code: Code, folder: Path) -> Path:
    """Make the archive in `folder`: of `code`, and of the modules and packages beside it and beside the manifest.

    What is installed elsewhere is not in it.
    """
    kept: dict[str, Code] = {}
    for place in folders_of(manifest):
        for path in [code.path] * (code.path.parent == place) + list(_modules(place)):
            with suppress(OSError):  # what cannot be read, nobody imports
                content = code.content if path == code.path else path.read_bytes()
                kept.setdefault(path.relative_to(place).as_posix(), Code(path, content))
    return archive(kept, folder)


def archive(kept: Mapping[str, Code], folder: Path) -> Path:
    """An archive in `folder` of modules, by their places on the path, e.g. `job.py` or `words/__init__.py`."""
    path = folder / NAME
    with zipfile.ZipFile(path, "w") as file:
        for name, code in kept.items():
            file.writestr(name, _text(code))
    return path


def files_of(module: str) -> tuple[str, str]:
    """The places on the path where a module may be: as a file, and as a package."""
    place = module.replace(".", "/")
    return f"{place}.py", f"{place}/__init__.py"


def sources(archive: Path) -> dict[str, bytes]:
    """The modules in an archive, as they were read: place on the path → bytes; none if there is no archive."""
    if not archive.is_file():
        return {}
    with zipfile.ZipFile(archive) as file:
        return {name: _content(file.read(name)) for name in file.namelist()}


def _modules(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        with suppress(PermissionError):  # a folder of others, as there are in /tmp
            if entry.suffix == ".py" and entry.is_file():
                yield entry
            elif (entry / "__init__.py").is_file():
                yield from sorted(path for path in entry.rglob("*.py") if path.is_file())


def _text(code: Code) -> str:
    path = code.path
    more = _PACKAGE.format(folder=str(path.parent)) if path.name == "__init__.py" else ""
    return _MODULE.format(path=str(path), content=code.content, more=more)


def _content(text: bytes) -> bytes:
    """What `_text` was made of: the first argument of `compile` in its last line."""
    last: Any = ast.parse(text).body[-1]
    return bytes(last.value.args[0].args[0].value)
