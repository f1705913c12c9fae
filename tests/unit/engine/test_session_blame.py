"""Which setting is to blame when Spark does not start, also where Spark names its value only."""

from __future__ import annotations

import pytest

from tandem.engine.refused_settings import PackagesError, blaming, refused_later
from tandem.jobapi.errors import JobError

SERIALIZER = {"spark.serializer": "KryoSerializer", "spark.executor.cores": "1", "spark.sql.ansi.enabled": "true"}
AT = "\n\tat org.apache.spark.SparkContext.<init>(SparkContext.scala:547) true 1"


@pytest.mark.parametrize(
    ("given", "raised", "expected"),
    [
        (SERIALIZER, f"An error\n: java.lang.ClassNotFoundException: KryoSerializer{AT}", "spark.serializer"),
        ({"spark.files": "/a, /nope.txt"}, f": java.io.FileNotFoundException: File `/nope.txt`{AT}", "spark.files"),
        ({"spark.eventLog.enabled": "true"}, f": File `/tmp/spark-events` does not exist.{AT}", "spark.eventLog.dir"),
        ({"spark.sql.defaultCatalog": "nope"}, f": The catalog `nope` not found.{AT}", "spark.sql.defaultCatalog"),
        ({"spark.shuffle.manager": "zz"}, f": java.lang.ClassNotFoundException: zz{AT}", "spark.shuffle.manager"),
        ({"spark.x": "5"}, f"Invalid value of spark.x{AT}", "spark.x"),
        (
            {"spark.sql.queryExecutionListeners": "no.Such"},
            f"An error\nCaused by: java.lang.ClassNotFoundException: no.Such{AT}",
            "spark.sql.queryExecutionListeners",
        ),
        ({"spark.driver.defaultJavaOptions": "-Xy"}, "[JAVA_GATEWAY_EXITED]", "spark.driver.defaultJavaOptions"),
    ],
)
def test_the_setting_is_named(given: dict[str, str], raised: str, expected: str) -> None:
    with (
        pytest.raises(JobError, match=rf"Spark refuses spec.spark.conf\[{expected}\]: .*Correct the value"),
        blaming(given),
    ):
        raise RuntimeError(raised)


def test_what_no_setting_explains_is_raised_as_it_is() -> None:
    with pytest.raises(RuntimeError, match="no space left"), blaming(SERIALIZER):
        raise RuntimeError(f"no space left{AT}")


UNRESOLVED = """
:: problems summary ::
Exception in thread "main" java.lang.RuntimeException: [unresolved dependency: org.no#such;1: not found]
\tat org.apache.spark.util.MavenUtils$.resolveMavenCoordinates(MavenUtils.scala:539)
"""
OPTION = "Unrecognized VM option 'NoSuch'\nError: Could not create the Java Virtual Machine.\nError: A fatal exception"


def test_packages_that_are_not_to_be_had_are_said_to_be_so() -> None:
    with (
        pytest.raises(
            PackagesError, match=r"packages\] are not to be had: \[unresolved dependency: org.no#such;1: not fo"
        ),
        blaming({"spark.jars.packages": "org.no:such:1"}, lambda: UNRESOLVED),
    ):
        raise RuntimeError("[JAVA_GATEWAY_EXITED]")


def test_a_setting_that_the_jvm_names_is_named() -> None:
    said = f'Exception in thread "main" org.spark.X: [INVALID_CONF_VALUE] the config "spark.buffer.size" is wrong{AT}'
    with (
        pytest.raises(
            JobError, match=r"Spark refuses spec.spark.conf\[spark.buffer.size\]: the JVM does not start; \[INV"
        ),
        blaming({"spark.x": "abc", "spark.buffer.size": "abc"}, lambda: said),
    ):
        raise RuntimeError("[JAVA_GATEWAY_EXITED]")


def test_what_the_jvm_says_is_told() -> None:
    with (
        pytest.raises(JobError, match=r"the JVM does not start; Unrecognized VM option 'NoSuch'\. Correct"),
        blaming({"spark.driver.extraJavaOptions": "-XX:NoSuch"}, lambda: OPTION),
    ):
        raise RuntimeError("[JAVA_GATEWAY_EXITED]")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            OPTION.replace("Unrecognized VM option 'NoSuch'", "Invalid maximum heap size: -Xmx99t"),
            "Invalid maximum heap",
        ),
        (
            "Error occurred during initialization of VM\nCould not reserve enough space for 9KB object heap",
            "Could not res",
        ),
    ],
)
def test_a_heap_that_is_not_to_be_had_is_told_with_the_field_that_asks_for_it(said: str, words: str) -> None:
    with (
        pytest.raises(JobError, match=rf"a heap of 40t \(spec.spark.driverMemory\): {words}.*Lower it"),
        blaming({"spark.driver.extraJavaOptions": "-XX:+UseZGC"}, lambda: said, "40t"),
    ):
        raise RuntimeError("[JAVA_GATEWAY_EXITED]")


CODEC = '[CODEC_NOT_AVAILABLE.WITH_CONF_SUGGESTION] The codec zz is not available. Consider to set "spark.io.codec"'


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"spark.io.codec": "zz", "spark.x": "zz"}, CODEC),
        ({"spark.sql.streaming.stateStore.compression.codec": "zz"}, CODEC),
        ({"spark.sql.stateStore.size": "x"}, "Lost task: Invalid value for 'spark.sql.statestore.size', must be"),
    ],
)
def test_a_setting_that_spark_refuses_while_it_computes_is_named(given: dict[str, str], said: str) -> None:
    error = RuntimeError("[CANNOT_LOAD_STATE_STORE] An error occurred")
    error._cause = RuntimeError(f"{said}\n=== Streaming Query ===")  # type: ignore[attr-defined]

    assert str(refused_later(given, error)).startswith(f"Spark refuses spec.spark.conf[{next(iter(given))}]: ")


def test_what_only_mentions_a_setting_refuses_none() -> None:
    assert refused_later({"spark.io.other": "z"}, RuntimeError(CODEC)) is None
    assert refused_later({"spark.io.codec": "z"}, RuntimeError('it took long: see "spark.io.codec"')) is None
