"""What to do about an error that a job's module or function raises where it runs elsewhere: in words, for its message."""

from __future__ import annotations

import traceback
from typing import Final

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
