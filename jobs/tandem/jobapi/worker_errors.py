"""What a Python worker of Spark raised, out of the text of the error that Spark makes of it."""

import re
import sysconfig
from pathlib import Path
from typing import Final

TRACEBACK: Final = "Traceback (most recent call last):"
"""Begins the traceback of a worker, in the text of an error of Spark."""


def worker_error(text: str) -> str:
    """`ValueError: text (job.py:12)`: the end of the traceback of a Python worker, and where the job's own code was."""
    lines = text.partition(TRACEBACK)[2].partition("\n SQLSTATE:")[0].splitlines()[1:]
    errors = [line for line in lines if line and not line.startswith((" ", "Traceback", "During", "The above"))]
    error = (errors[0] if errors else "") or text.splitlines()[0]
    frames = [(Path(m[1]), m[2]) for line in lines if (m := re.match(r'  File "([^<].*)", line (\d+)', line))]
    own = [f" ({path.name}:{number})" for path, number in frames if _is_users(path)]
    return error + (own[-1] if own else "")


def _is_users(path: Path) -> bool:
    libraries = (Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib")))
    inside = any(path.is_relative_to(library) for library in libraries)
    return path.is_absolute() and path.suffix == ".py" and "pyspark" not in path.parts and not inside
