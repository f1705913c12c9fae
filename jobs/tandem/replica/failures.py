"""What stopped Spark, told as what it is: a mistake of the job, lost input, or a failure that a restart may cure."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path

from pyspark.errors import StreamingQueryException

from tandem.engine.interface import JobError
from tandem.kafka.errors import LostInputError

_OTHER_STATE = re.compile(
    r"\[(STATE_STORE_\w*NOT_COMPATIBLE|STATE_STORE_\w*SCHEMA\w*|STREAMING_STATEFUL_OPERATOR_NOT_MATCH\w*)[^\n]*"
    r"(\n(?!\s+at |\n)[^\n]*){0,5}"
)
"""Spark's own words when a checkpoint is of another plan, and the lines with what differs."""

_OF_THE_JOB = re.compile(r"SQLSTATE: (22|38)\w{3}")
"""Classes of SQLSTATE, as Spark names them: 22, an expression cannot take these values; 38, Python code raised."""


def classified(error: BaseException) -> BaseException:
    """Failures inside Spark that come from the user's code or from lost input are refusals, not worth a restart."""
    text = str(error)
    if "LostInputError" in text:
        return LostInputError(next(line for line in text.splitlines() if "LostInputError" in line))
    if (match := _OTHER_STATE.search(text)) is not None:
        return JobError(
            f"the job's code cannot go on from the state that the code before it left: {match[0].strip()} Keep the "
            "operators and their keys as they were, or give the changed job another metadata.name, so that it begins anew"
        )
    if isinstance(error, StreamingQueryException) and (match := _OF_THE_JOB.search(text)) is not None:
        said = _python_error(text) if match[1] == "38" else " ".join(text.partition(match[0])[0].split())
        return JobError(f"the job raised while it ran: {said}")
    return error


def _python_error(text: str) -> str:
    """`ValueError: text (job.py:12)`: the end of the traceback of a Python worker, and where the job's own code was."""
    lines = text.partition("Traceback (most recent call last):")[2].splitlines()[1:]
    error = next((line for line in lines if line and not line.startswith(" ")), "") or text.splitlines()[0]
    frames = [(Path(m[1]), m[2]) for line in lines if (m := re.match(r'  File "([^<].*)", line (\d+)', line))]
    libraries = Path(sysconfig.get_path("stdlib"))
    own = [f" ({p.name}:{n})" for p, n in frames if "pyspark" not in p.parts and not p.is_relative_to(libraries)]
    return error + (own[-1] if own else "")
