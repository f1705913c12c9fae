"""The user's modules that a job's code imports, wherever in it: their functions are part of what the job computes."""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tandem.engine.users_code import is_installed, is_users_file
from tandem.jobapi.frozen_code import files_of, sources
from tandem.manifest.fact_hashes import hash_of_module
from tandem.manifest.models import JobSpec


@dataclass(frozen=True, slots=True)
class _Source:
    content: bytes
    is_package: bool


class _Finder:
    """Where the text of a module is: in the archive of the job's code, or beside what this process has imported."""

    def __init__(self, kept: Mapping[str, bytes], package: str) -> None:
        self._kept, self._package = kept, package

    def find(self, name: str) -> _Source | None:
        """None: there is none, or it is not the user's. Packages that are installed are, if the job itself is in them."""
        for file in files_of(name):
            if file in self._kept:
                return _Source(self._kept[file], file.endswith("/__init__.py"))
        path = _path_of(name)
        if path is None or not is_users_file(str(path)):
            return None
        if is_installed(str(path)) and name.partition(".")[0] != self._package:
            return None
        return _Source(path.read_bytes(), path.name == "__init__.py")


def modules_of(job: JobSpec, archive: Path) -> dict[str, str]:
    """The user's modules that the code of a job names in an import, and those that they name: name → hash of its bytes.

    The module of the job itself is not among them: its bytes are a part of the identity of their own. Nothing is imported
    for it. What is imported by a name that the code computes is not found.

    `archive` : the job's code, as it was when the process began; see `frozen_code`.
    """
    entry = job.module or Path(job.file or "").stem
    finder = _Finder(sources(archive), entry.partition(".")[0] if job.module else "")
    found: dict[str, _Source] = {}
    left = [entry]
    while left:
        name = left.pop()
        if name not in found and (source := finder.find(name)) is not None:
            found[name] = source
            left += _imports(name, source)
    return {name: hash_of_module(source.content) for name, source in sorted(found.items()) if name != entry}


def _imports(name: str, source: _Source) -> Iterator[str]:
    """What may be modules among the names that a module's text imports, and the packages that they are in."""
    try:
        nodes = list(ast.walk(ast.parse(source.content)))
    except (SyntaxError, ValueError, RecursionError):  # importing it says so
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_packages(alias.name)
        elif isinstance(node, ast.ImportFrom):
            origin = ".".join(filter(None, (_package(name, source.is_package, node.level), node.module)))
            yield from _with_packages(origin)
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def _package(name: str, is_package: bool, level: int) -> str:
    """The package that so many leading dots stand for in a module."""
    parts = name.split(".")
    return ".".join(parts[: max(len(parts) - level + is_package, 0)]) if level else ""


def _with_packages(name: str) -> Iterator[str]:
    parts = name.split(".")
    yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def _path_of(name: str) -> Path | None:
    """The file of a module that this process has imported, or that is in a package that it has."""
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is not None:
        return Path(file) if Path(file).is_file() else None
    package, _, last = name.rpartition(".")
    for folder in _folders_of(package) if package else ():
        for path in (Path(folder, f"{last}.py"), Path(folder, last, "__init__.py")):
            if path.is_file():
                return path
    return None


def _folders_of(package: str) -> Iterable[str | Path]:
    if package in sys.modules:
        return getattr(sys.modules[package], "__path__", ())
    path = _path_of(package)
    return [path.parent] if path is not None and path.name == "__init__.py" else []
