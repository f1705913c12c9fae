"""Which setting is to blame when Spark does not start, also where Spark names its value only."""

from __future__ import annotations

import pytest

from tandem.engine.session import _blaming
from tandem.jobapi.errors import JobError

SERIALIZER = {"spark.serializer": "KryoSerializer", "spark.executor.cores": "1", "spark.sql.ansi.enabled": "true"}
AT = "\n\tat org.apache.spark.SparkContext.<init>(SparkContext.scala:547) true 1"


@pytest.mark.parametrize(
    ("given", "raised", "expected"),
    [
        (SERIALIZER, f"An error\n: java.lang.ClassNotFoundException: KryoSerializer{AT}", "spark.serializer"),
        ({"spark.files": "/a, /nope.txt"}, f": java.io.FileNotFoundException: File `/nope.txt`{AT}", "spark.files"),
        ({"spark.eventLog.enabled": "true"}, f": File `/tmp/spark-events` does not exist.{AT}", "spark.eventLog.dir"),
        ({"spark.x": "5"}, f"Invalid value of spark.x{AT}", "spark.x"),
        ({"spark.driver.defaultJavaOptions": "-Xy"}, "[JAVA_GATEWAY_EXITED]", "spark.driver.defaultJavaOptions"),
    ],
)
def test_the_setting_is_named(given: dict[str, str], raised: str, expected: str) -> None:
    with (
        pytest.raises(JobError, match=rf"Spark refuses spec.spark.conf\[{expected}\]: .*Correct the value"),
        _blaming(given),
    ):
        raise RuntimeError(raised)


def test_what_no_setting_explains_is_raised_as_it_is() -> None:
    with pytest.raises(RuntimeError, match="no space left"), _blaming(SERIALIZER):
        raise RuntimeError(f"no space left{AT}")
