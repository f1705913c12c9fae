"""Variables of Spark that somebody's shell has do not change a job."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tandem.engine.environment import local_zone, settle
from tandem.engine.session import settings_of
from tandem.manifest import SparkSpec


def test_settings_from_elsewhere_are_taken_out_and_named(tmp_path: Path) -> None:
    ours = {"PATH": "/bin", "JAVA_HOME": "/java", "HADOOP_CONF_DIR": "/etc/hadoop", "SPARK_LOCAL_IP": "127.0.0.1"}
    theirs = {
        "PYSPARK_SUBMIT_ARGS": "--conf spark.sql.ansi.enabled=false pyspark-shell",
        "SPARK_CONF_DIR": "/etc/spark",
        "SPARK_LOCAL_DIRS": "/scratch",
        "SPARK_HOME": "/opt/spark-3.5",
        "TZ": "Asia/Tokyo",
    }
    environ = ours | theirs

    assert dict(settle(environ, tmp_path, "UTC")).keys() == theirs.keys()
    assert environ == ours | {"SPARK_HOME": str(tmp_path), "TZ": "UTC"}
    assert not dict(settle(environ, tmp_path, "UTC"))


def test_another_name_of_the_same_spark_stays(tmp_path: Path) -> None:
    (tmp_path / "spark").symlink_to(tmp_path)
    environ = {"SPARK_HOME": str(tmp_path / "spark")}

    assert not dict(settle(environ, tmp_path, "Europe/Berlin"))
    assert environ == {"SPARK_HOME": str(tmp_path / "spark"), "TZ": "Europe/Berlin"}


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("UTC", "2024-06-01 00:00"),
        ("Z", "2024-06-01 00:00"),
        ("+05:30", "2024-06-01 05:30"),
        ("UTC-3", "2024-05-31 21:00"),
        ("GMT+02:00", "2024-06-01 02:00"),
        ("Europe/Berlin", "2024-06-01 02:00"),
    ],
)
def test_pythons_local_time_is_that_of_the_session(zone: str, expected: str) -> None:
    code = "import datetime; print(datetime.datetime.fromtimestamp(1717200000).strftime('%Y-%m-%d %H:%M'))"
    shown = subprocess.run([sys.executable, "-c", code], env={"TZ": local_zone(zone)}, capture_output=True, text=True)

    assert shown.stdout.strip() == expected


def test_the_jvm_has_no_language_nor_encoding_of_its_machine(tmp_path: Path) -> None:
    options = settings_of("flights", "replica-0", SparkSpec(), tmp_path, tmp_path)["spark.driver.extraJavaOptions"]

    for fixed in ("-Duser.language=en", "-Duser.country=", "-Dfile.encoding=UTF-8"):
        assert fixed in options.split()
