"""What Spark says when it cannot do something, in a line."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

SparkError = (PySparkException, Py4JJavaError)
"""What a call into Spark raises; PySpark translates only some of the JVM's exceptions."""


def reason(error: Exception) -> str:
    """The first line of what the JVM says."""
    text = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else str(error)
    return (text or repr(error)).strip().partition("\n")[0]
