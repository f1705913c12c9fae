"""The user's job: finding its function and calling it with streaming DataFrames."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import traceback
import zipimport
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from tandem.jobapi.advice import advice
from tandem.jobapi.context import JobContext
from tandem.jobapi.errors import JobError
from tandem.manifest import JobSpec


def make_importable(kept: Path, folders: Sequence[Path]) -> None:
    """Let this process and Spark's Python workers import the job's kept code, and what is in its folders; before the JVM
    starts.

    The working folder comes last: Python would look there first, and may find the job's file as it is by then.
    """
    entries = [str(kept), *map(str, folders)]
    sys.path[:0] = entries
    inherited = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([*entries, *filter(None, [inherited]), str(Path.cwd())])
    os.environ["PYTHONSAFEPATH"] = "1"


def load_function(job: JobSpec, kept: Path) -> Callable[..., object]:
    """The job's function. Raises `JobError` with the user's own line if its module cannot be imported."""
    where = job.file or job.module
    try:
        with no_arguments(where):
            module = _module(job, kept)
    except JobError:
        raise
    except (Exception, SystemExit) as error:
        raise JobError(f"{where} could not be imported: {_last_frame(error, where)}{advice(error)}") from error
    function: Callable[..., object] | None = getattr(module, job.function, None)
    if function is None or not callable(function):
        raise JobError(f"{where} has no function `{job.function}`. Define it, or name another one in spec.job.function")
    return function


def call(function: Callable[..., object], context: JobContext, sources: Mapping[str, DataFrame]) -> object:
    """Call a job with the DataFrames that its parameters name. Raises `JobError`."""
    offered: dict[str, object] = {**sources, "ctx": context}
    parameters = inspect.signature(function).parameters.values()
    unknown = [
        p.name for p in parameters if p.name not in offered and p.default is p.empty and p.kind is not p.VAR_KEYWORD
    ]
    if unknown:
        raise JobError(
            f"the job's parameters {unknown} are no sources. A parameter is the name of a source, {sorted(sources)}, or ctx"
        )
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
    wanted = offered if takes_all else {p.name: offered[p.name] for p in parameters if p.name in offered}
    try:
        with no_arguments(_file_of(function)):
            return function(**wanted)
    except JobError:
        raise
    except (Exception, SystemExit) as error:
        raise JobError(
            f"the job raised {_last_frame(error, _file_of(function))}{_of_headers(error, context) or advice(error)}"
        ) from error


@contextmanager
def no_arguments(where: object) -> Iterator[None]:
    """While the block runs, the command line is that of a program called without arguments, in every process alike.

    A job that was a program often looks for its own: it finds its defaults, and not what Tandem was called with.
    """
    before = sys.argv
    sys.argv = [str(where)]
    try:
        yield
    finally:
        sys.argv = before


def _file_of(function: object) -> str:
    return str(getattr(getattr(function, "__code__", None), "co_filename", __file__))


def _of_headers(error: BaseException, context: JobContext) -> str:
    if "`headers`" in str(error) and not any(source.include_headers for source in context.sources):
        return ". Headers of the input are a column where its source says includeHeaders: true"
    return ""


def in_a_line(error: BaseException) -> str:
    """What an error says; of Spark's, without the plan or the query that follow in lines of their own."""
    text = f"code {error}" if isinstance(error, SystemExit) else str(error).strip()
    return text.partition("\n")[0].rstrip(";") if isinstance(error, PySparkException) else text


def _module(job: JobSpec, kept: Path) -> ModuleType:
    if job.file is None:
        return importlib.import_module(job.module or "")
    name = Path(job.file).stem
    spec = zipimport.zipimporter(str(kept)).find_spec(name)
    if spec is None or spec.loader is None:
        raise ImportError(f"{job.file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _last_frame(error: BaseException, where: object) -> str:
    """`ValueError: text (job.py:12)`: the last line of the user's own file in the traceback."""
    named = (f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).name == Path(str(where)).name)
    # This module is a job.py, too; and what is in an archive is no file.
    frames = [frame for frame in named if frame.filename != __file__ and Path(frame.filename).is_file()]
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {in_a_line(error)}{place}"


__all__ = ["JobContext", "call", "in_a_line", "load_function", "make_importable"]
