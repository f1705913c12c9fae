"""The job's code as text: found and looked at, never imported."""

import ast
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.machinery import FrozenImporter, ModuleSpec, PathFinder
from pathlib import Path
from typing import Final

from tandem.manifest.bindings import UNKNOWN, Function, gives_something, module_names
from tandem.manifest.loading import Manifest
from tandem.manifest.problems import Issue, Location, Problem
from tandem.manifest.vocabulary import nearest

_USED: Final = (
    "array ast asyncio base64 binascii bisect bz2 cProfile calendar cmath collections colorsys concurrent "
    "configparser contextlib contextvars copy copyreg csv ctypes dataclasses datetime decimal difflib dis email "
    "encodings enum fcntl filecmp fnmatch fractions functools gettext glob grp gzip hashlib heapq hmac html http "
    "importlib inspect ipaddress json keyword linecache locale logging lzma math mimetypes mmap numbers opcode "
    "operator pathlib pickle pkgutil platform pprint profile pstats pydoc queue quopri random re reprlib resource "
    "secrets select selectors shlex shutil signal socket socketserver ssl statistics string struct subprocess "
    "sysconfig tarfile tempfile textwrap threading timeit token tokenize traceback types typing unicodedata urllib "
    "uuid warnings weakref wsgiref zipfile zlib zoneinfo "
)
"""Python's own modules that a replica or one of Spark's Python workers imports, as of Python 3.11."""
_INSTALLED: Final = "confluent_kafka fsspec kazoo numpy pandas py4j pyarrow pyspark tandem"


def _comes_first(name: str) -> bool:
    """Whether Python takes its own module before it looks along the path."""
    return name in sys.builtin_module_names or FrozenImporter.find_spec(name) is not None


TAKEN: Final = frozenset(name for name in (*_USED.split(), *_INSTALLED.split()) if not _comes_first(name))


CONTEXT: Final = "ctx"
"""The parameter by which a job may ask for its context."""

_JOB: Final[Location] = ("spec", "job")
_SESSIONS: Final = frozenset({"spark", "session", "spark_session", "sc"})
"""Parameters by which jobs elsewhere get the session."""


class CodeNotFoundError(ValueError):
    """There is no file of the job's code."""


@dataclass(frozen=True)
class Code:
    """The file of the job's code."""

    path: Path
    content: bytes


def find_code(manifest: Manifest, search_path: Sequence[str] | None = None) -> Code:
    """Find the file, or the module's file, first beside the manifest and then on `search_path` (default: `sys.path`).

    Raises `CodeNotFoundError`: there is none, or it cannot be read.
    """
    job = manifest.spec.job
    path = manifest.resolve(job.file) if job.file is not None else _module_file(manifest, job.module or "", search_path)
    if path is None:
        raise CodeNotFoundError(f"there is no module {job.module}")
    try:
        return Code(path, path.read_bytes())
    except OSError as error:
        raise CodeNotFoundError(f"cannot read {path}: {error.strerror}") from error


def check_code(manifest: Manifest) -> tuple[Problem, ...]:
    """What can be said against the job's code without running it: it must be there, be Python, and define the function with
    one parameter for each source, and so must the functions of its sinks; all problems at once, each with its line in the
    manifest."""
    return tuple(manifest.problem(issue) for issue in (*_issues(manifest), *_issues_of_sinks(manifest)))


def _issues(manifest: Manifest) -> Iterator[Issue]:
    job = manifest.spec.job
    at = (*_JOB, "file" if job.file is not None else "module")
    try:
        code = find_code(manifest)
    except CodeNotFoundError as error:
        remedy = "Paths start from the manifest's folder" if job.file else _how_to_find(job.module or "")
        yield Issue(at, str(error), remedy)
        return
    yield from _names(manifest, code.path, at)
    try:
        tree = ast.parse(code.content, code.path.name)
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""
        yield Issue(at, f"{code.path.name}{line}: {error.msg}", "Correct the Python code")
        return
    except ValueError as error:
        yield Issue(at, f"{code.path.name}: {error}", "Save the file as Python source")
        return
    bound = module_names(tree)
    functions = {name: node for name, (node, *_) in bound.items() if isinstance(node, Function)}
    its = bound.get(job.function, [])
    if not its and UNKNOWN not in bound:
        message = f"{code.path.name} defines no function {job.function}"
        yield Issue((*_JOB, "function"), message, _which(job.function, functions))
    elif len(its) == 1 and isinstance(its[0], Function):
        yield from _against(its[0], code.path.name, manifest)


def _issues_of_sinks(manifest: Manifest) -> Iterator[Issue]:
    """Against the functions of sinks `foreachBatch`; in an image there may be other modules than here."""
    if manifest.runs_elsewhere:
        return
    for index, sink in enumerate(manifest.spec.sinks):
        if sink.foreach_batch is not None:
            yield from _of_sink(manifest, ("spec", "sinks", index, "foreachBatch"), sink.foreach_batch)


def _of_sink(manifest: Manifest, at: Location, where: str) -> Iterator[Issue]:
    module, _, name = where.partition(":")
    spec = _spec(_folders(manifest), module)
    if spec is None and "spark.submit.pyFiles" not in manifest.spec.spark.conf:
        remedy = "Put it beside the job's file or the manifest, or install it where the replicas run"
        yield Issue(at, f"there is no module {module}", remedy)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return
    file = Path(spec.origin)
    try:
        bound = module_names(ast.parse(file.read_bytes(), file.name))
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""
        yield Issue(at, f"{file.name}{line}: {error.msg}", "Correct the Python code")
        return
    except (OSError, ValueError):  # in an archive, for example
        return
    if not {name, UNKNOWN, "__getattr__"} & bound.keys():
        functions = {known: node for known, (node, *_) in bound.items() if isinstance(node, Function)}
        yield Issue(at, f"{file.name} defines no function {name}", _which(name, functions))


def _folders(manifest: Manifest) -> list[str]:
    """Where a replica looks for modules, beside what is installed: as `frozen_code.folders_of`, and where it is started."""
    file = manifest.spec.job.file
    beside = [] if file is None else [manifest.resolve(file).parent]
    return [*map(str, [*beside, manifest.base]), *sys.path, str(Path.cwd())]


def _names(manifest: Manifest, file: Path, at: Location) -> Iterator[Issue]:
    """Against names of the file, and of what lies beside it or the manifest, by which Python imports something else."""
    stem = file.stem
    if manifest.spec.job.file is not None and "." in stem:
        remedy = f"Rename it, e.g. {stem.replace('.', '_')}.py"
        yield Issue(at, f"{file.name} has a dot in its name, so Python cannot import it", remedy)
    if manifest.spec.job.file is not None and stem == "__init__":
        remedy = f"Name the package: module: {file.parent.name}, with the manifest beside its folder"
        yield Issue(at, f"{file.name} is imported by the name of its package", remedy)
    folders = {file.parent, manifest.base} if manifest.spec.job.file is not None else {manifest.base}
    for folder in sorted(folders):
        for entry in sorted(folder.iterdir()):
            if entry.stem in TAKEN and _is_module(entry) and not _is_that(entry):
                message = (
                    f"{entry} has the name of a module that Python, Spark or Tandem imports, and would take its place"
                )
                yield Issue(at, message, "Rename it, or move it to another folder")


def _is_module(entry: Path) -> bool:
    with suppress(OSError):  # a folder of others, as there are in /tmp
        return entry.is_file() if entry.suffix == ".py" else (entry / "__init__.py").is_file()
    return False


def _is_that(entry: Path) -> bool:
    """Whether it is the module of that name which is imported here, as beside a project's own manifests."""
    file = getattr(sys.modules.get(entry.stem), "__file__", None)
    return file is not None and Path(file).resolve().is_relative_to(entry.resolve())


def _how_to_find(module: str) -> str:
    return (
        f"A file is named so: file: {module}" if module.endswith(".py") else "Install it, or put it beside the manifest"
    )


def _which(name: str, functions: dict[str, Function]) -> str:
    public = [known for known in functions if not known.startswith("_")]
    near = nearest(name, public)
    if near is not None:
        return f"Did you mean {near}?"
    return f"It defines {', '.join(public)}" if public else f"Define it at the top level: def {name}(…):"


def _against(function: Function, file: str, manifest: Manifest) -> Iterator[Issue]:
    at, where = (*_JOB, "function"), f"{file}:{function.lineno}: {function.name}"
    names = [source.name for source in manifest.spec.sources]
    call = f"def {function.name}({', '.join(names)}):"
    if isinstance(function, ast.AsyncFunctionDef):
        yield Issue(at, f"{where} is async", f"Write {call}")
    if function.decorator_list:
        return
    if not gives_something(function):
        remedy = "Tandem starts the query: return a DataFrame, or a dict of them with the sinks' names as keys"
        yield Issue(at, f"{where} returns nothing", remedy)
    arguments = function.args
    if arguments.posonlyargs:
        yield Issue(at, f"{where} has parameters that are positional only, but is called by names", "Remove the '/'")
    parameters = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    missing = [name for name in names if name not in parameters and arguments.kwarg is None]
    unknown = [name for name in _required(arguments) if name not in (*names, CONTEXT)]
    if missing:
        yield Issue(at, f"{where} has no parameter for {_sources(missing)}", f"Write {call}")
    if unknown:
        remedy = f"Parameters are named after sources ({', '.join(names)}) or {CONTEXT}"
        if set(unknown) & _SESSIONS:
            remedy += f"; the session is {CONTEXT}.spark"
        yield Issue(at, f"{where} has a parameter {', '.join(unknown)}, but there is no such source", remedy)


def _sources(names: list[str]) -> str:
    return f"the source{'s' if len(names) > 1 else ''} {', '.join(names)}"


def _required(arguments: ast.arguments) -> list[str]:
    positional = [*arguments.posonlyargs, *arguments.args]
    required = positional[: len(positional) - len(arguments.defaults)]
    keyword_only = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return [argument.arg for argument in (*required, *(name for name, default in keyword_only if default is None))]


def _module_file(manifest: Manifest, module: str, search_path: Sequence[str] | None) -> Path | None:
    """Where a module is, beside the manifest or on `search_path`."""
    folders = [str(manifest.base), *(sys.path if search_path is None else search_path)]
    spec = _spec(folders, module, installed=search_path is None)
    return Path(spec.origin) if spec is not None and spec.origin is not None and spec.has_location else None


def _spec(folders: Sequence[str], module: str, installed: bool = True) -> ModuleSpec | None:
    """A module, found part by part: `find_spec` of a dotted name would import its packages.

    `installed` : it may be on no path.
    """
    first, *parts = module.split(".")
    spec = PathFinder.find_spec(first, folders)
    if spec is None and installed:
        spec = _elsewhere(first)
    for part in parts:
        if spec is None or spec.submodule_search_locations is None:
            return None
        spec = PathFinder.find_spec(part, list(spec.submodule_search_locations))
    return spec


def _elsewhere(name: str) -> ModuleSpec | None:
    """A module that is on no path, as one whose project is installed for development (`pip install --editable`)."""
    return next((spec for finder in sys.meta_path if (spec := finder.find_spec(name, None)) is not None), None)
