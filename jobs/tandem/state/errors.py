"""Why state cannot be read or repartitioned, in words for the caller."""

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from tandem.process.errors import StateError


class NoStateError(StateError):
    """There is no state where it was looked for."""


class StatelessJobError(StateError):
    """The job keeps no state."""


class UnknownOperatorError(StateError):
    """The job has no operator of that id or name, or several."""


class UnknownPartError(StateError):
    """The operator has no such state variable, side or timers."""


class UnknownTableError(StateError):
    """The job has no table of that name."""


class BadKeyError(StateError):
    """A key that cannot be one of the operator's."""


class TemporaryFolderError(StateError):
    """A state has no room in the folder of temporary files, or cannot be written there."""


class RescaleError(StateError):
    """Spark refuses to divide this state again."""


class DivideError(StateError):
    """The states of a job's lanes cannot be divided among others."""


SparkError = (PySparkException, Py4JJavaError)
"""What a call into Spark raises; PySpark translates only some of the JVM's exceptions."""


def reason(error: Exception) -> str:
    """The first line of what the JVM says."""
    text = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else str(error)
    return (text or repr(error)).strip().partition("\n")[0]
