"""The environment of a replica's Spark: what would change the job behind the manifest's back is taken out of it, or set."""

import os
import re
import zoneinfo
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Final

JVM: Final = "-Dfile.encoding=UTF-8 -Duser.language=en -Duser.country="
"""Else upper case, numbers as text and bytes of texts follow LANG, LC_ALL or JAVA_TOOL_OPTIONS."""

_IN_CONF: Final = "give settings in spec.spark.conf"
_OVERRULED: Final = {
    "PYSPARK_SUBMIT_ARGS": f"{_IN_CONF}, the heap in spec.spark.driverMemory",
    "SPARK_CONF_DIR": f"{_IN_CONF}; Hadoop's files are found by HADOOP_CONF_DIR",
    "SPARK_SUBMIT_OPTS": "give options of the JVM in spark.driver.extraJavaOptions of spec.spark.conf",
    "SPARK_LOCAL_DIRS": "each replica has a folder of its own, removed with it; point TMPDIR elsewhere if need be",
    "SPARK_REMOTE": "each replica is a driver of its own",
    "SPARK_CONNECT_MODE_ENABLED": "each replica is a driver of its own",
    "SPARK_API_MODE": "each replica is a driver of its own",
    "PYSPARK_GATEWAY_PORT": "each replica has a JVM of its own",
    "PYSPARK_GATEWAY_SECRET": "each replica has a JVM of its own",
}
"""Variable → what to do instead."""

_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?\d{2})?")
_UTC: Final = "UTC"


def settle(environ: MutableMapping[str, str], spark_home: Path, time_zone: str) -> Iterator[tuple[str, str]]:
    """Change `environ`; the variables that had another value, each with what to do instead.

    `spark_home` : the folder of the PySpark that runs. A job is computed by no other Spark.
    `time_zone` : `spark.sql.session.timeZone`. Python's local time is the same in every replica, whatever its host
    says.
    """
    for name, instead in _OVERRULED.items():
        if environ.pop(name, ""):
            yield name, instead
    given = environ.get("SPARK_HOME", "")
    if given and os.path.realpath(given) != os.path.realpath(spark_home):
        environ["SPARK_HOME"] = str(spark_home)
        yield "SPARK_HOME", f"the Spark of the installed pyspark is used, {spark_home}"
    zone, before = local_zone(time_zone), environ.get("TZ")
    environ["TZ"] = zone
    if before not in (None, zone):
        yield "TZ", f"Python's local time is {zone}, as Spark's is; use spark.sql.session.timeZone in spec.spark.conf"


def local_zone(time_zone: str) -> str:
    """The value of TZ for one of Spark's time zones: a region or an offset; UTC for what only Java knows.

    >>> local_zone("Europe/Berlin"), local_zone("+05:30"), local_zone("PST")
    ('Europe/Berlin', '<+0530>-05:30', 'UTC')
    """
    text = time_zone.strip()
    if text in zoneinfo.available_timezones():
        return text
    found = _OFFSET.fullmatch(text)
    if found is None:
        return _UTC
    sign, hours, minutes = found[1], int(found[2]), found[3] or "00"
    # POSIX counts to the west.
    return f"<{sign}{hours:02}{minutes}>{'-' if sign == '+' else '+'}{hours:02}:{minutes}"
