"""The user's job: finding its function, calling it with streaming DataFrames, and advice on an error that it raises."""

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
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from tandem.jobapi.context import JobContext
from tandem.jobapi.errors import JobError
from tandem.jobapi.worker_errors import TRACEBACK, worker_error
from tandem.manifest import JobSpec

_OPTIONS: Final = "spec.job.options, which the function finds in ctx.options"

_ADVICE: Final = (
    (
        "Queries with streaming sources must be executed with writeStream",
        "A stream has no rows while the function runs, so none can be counted, shown or collected there: remove the "
        "line, and read the sink's topic to look at rows",
    ),
    (
        "CALL_ON_STREAMING_DATASET_UNSUPPORTED",
        "A stream has no rows while the function runs: return the DataFrame, and name where its rows go in spec.sinks",
    ),
    (
        "_ALREADY_EXISTS",
        "The function is called more than once, each time in the same session: write what may be there already, as "
        "createOrReplaceTempView(), DECLARE OR REPLACE VARIABLE and CREATE TABLE IF NOT EXISTS do",
    ),
    (
        "CANNOT_MODIFY_",
        "A session that runs has it already: set it in spec.spark.conf, which `tandem validate` checks, or remove the line",
    ),
    ("EOFError", "A replica has no terminal: take what the code asks for from spec.job.options"),
    ("SystemExit 2", f"A replica has no command line: give arguments defaults, or take them from {_OPTIONS}"),
    ("SystemExit", "A replica runs on: return the DataFrame instead of ending the process"),
    (
        "Cannot run multiple SparkContexts at once",
        "Tandem has made the session: use SparkSession.builder.getOrCreate(), or ctx.spark in the function",
    ),
    (
        "attempted relative import with no known parent package",
        "Name the job by its package, e.g. spec.job.module: package.job, and let the manifest lie beside the package's "
        "folder",
    ),
    (
        "PicklingError",
        "Spark sends the function with all that it uses to its Python workers. Make such an object in the function, when it "
        "is needed first, or in a module beside the job that asks Spark for nothing, which the workers import",
    ),
    ("ModuleNotFoundError", "Install it where the replicas run, or put it beside the job's file or the manifest"),
)
"""What an error's name and text contain, and what to do."""
_OF_THE_LINE: Final = (
    ("IndexError", "argv", f"A replica has no command line: take arguments from {_OPTIONS}"),
    (
        "KeyError",
        "environ",
        f"Set the variable where replicas are started, on Kubernetes in podTemplate; or take it from {_OPTIONS}",
    ),
    (
        "FileNotFoundError",
        "",
        "Replicas run in any folder: begin paths with that of the job's file, os.path.dirname(__file__)",
    ),
)
"""An error's name, what the line that raised it contains, and what to do."""


def advice(error: BaseException) -> str:
    """A sentence for the end of a message, with a full stop before it; "" if there is none."""
    said = f"{type(error).__name__} {error}"
    lines = "\n".join(str(frame.line) for frame in traceback.extract_tb(error.__traceback__))
    found = [text for sign, text in _ADVICE if sign in said]
    found += [text for name, sign, text in _OF_THE_LINE if type(error).__name__ == name and sign in lines]
    return f". {found[0]}" if found else ""


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
    takes_any = [p.name for p in parameters if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    unknown = [p.name for p in parameters if p.name not in (*offered, *takes_any) and p.default is p.empty]
    if unknown:
        raise JobError(
            f"the job's parameters {unknown} are no sources. A parameter is the name of a source, {sorted(sources)}, or ctx"
        )
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
    if takes_any and not takes_all and len(parameters) == 1:
        raise JobError(
            f"the job takes its sources by their order only (*{takes_any[0]}), but is called by their names: name its "
            f"parameters {', '.join(sources)}; a decorator's wrapper takes (*args, **kwargs)"
        )
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


def raised(error: BaseException, function: Callable[..., object]) -> str:
    """What a function of the user raised, with its line, and what to do where that is known."""
    return f"{_last_frame(error, _file_of(function))}{advice(error)}"


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
    """What an error says; of Spark's, without the plan or the query that follow in lines of their own.

    Of an error in a Python worker: what was raised there, and its line.
    """
    text = f"code {error}" if isinstance(error, SystemExit) else str(error).strip()
    if not isinstance(error, PySparkException):
        return text
    return worker_error(text) if TRACEBACK in text else text.partition("\n")[0].rstrip(";")


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


__all__ = ["JobContext", "call", "in_a_line", "load_function", "make_importable", "raised"]
