"""Java classes of Tandem's own, compiled at start by Spark's Janino: they live in the driver's JVM only."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from pyspark.sql import SparkSession


def new(session: SparkSession, name: str, *arguments: Any, uses: str | None = None) -> Any:
    """An object of the class `tandem.NAME`, whose source is beside this file, made by its only constructor.

    `uses` : another such class that it knows.
    """
    gateway: Any = session.sparkContext._gateway
    given = gateway.new_array(gateway.jvm.java.lang.Object, len(arguments))
    for index, value in enumerate(arguments):
        given[index] = value
    return _class(gateway, name, uses).getConstructors()[0].newInstance(given)


@cache
def _class(gateway: Any, name: str, uses: str | None = None) -> Any:
    """Once for a JVM, because py4j remembers methods by the name of their class."""
    compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
    spark = gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader()
    compiler.setParentClassLoader(spark if uses is None else _class(gateway, uses).getClassLoader())
    compiler.cook(files("tandem.engine").joinpath(f"{name}.java").read_text())
    return compiler.getClassLoader().loadClass(f"tandem.{name}")
