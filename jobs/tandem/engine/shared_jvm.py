"""Two Python processes with a session each in one JVM: the second one costs a second or two, and not the start of a JVM."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQueryManager


@contextmanager
def shared(session: SparkSession) -> Iterator[dict[str, str]]:
    """In the block another process may `join`: the variables of its environment that let it."""
    gateway: Any = session.sparkContext._gateway
    jvm: Any = session._jvm
    try:
        yield {
            "PYSPARK_GATEWAY_PORT": str(gateway.gateway_parameters.port),
            "PYSPARK_GATEWAY_SECRET": gateway.gateway_parameters.auth_token,
        }
    finally:
        jvm.org.apache.spark.sql.classic.SparkSession.setDefaultSession(session._jsparkSession)


def join() -> SparkSession:
    """A session of its own in the JVM of the process that started this one."""
    gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
    jvm = gateway.jvm
    context = jvm.org.apache.spark.SparkContext.getOrCreate()
    wrapped = jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(context)
    python = SparkContext(gateway=gateway, jsc=wrapped, conf=SparkConf(_jvm=jvm, _jconf=context.conf()))
    theirs = jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession().get()
    # Callbacks of listeners would go to this process, also those of the process that started it.
    StreamingQueryManager.addListener = lambda *_: None  # type: ignore[method-assign]
    return SparkSession(python, theirs.newSession())
