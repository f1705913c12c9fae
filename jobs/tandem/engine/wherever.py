"""What a process computes by and takes from where it runs, made the same wherever that is: its time zone and language."""

from __future__ import annotations

import os
import re
import time
from typing import Final

JVM: Final = "-Dfile.encoding=UTF-8 -Duser.language=en -Duser.country="
"""Else upper case, numbers as text and bytes of texts follow LANG, LC_ALL or JAVA_TOOL_OPTIONS."""
_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")


def follow_time_zone(zone: str) -> None:
    """Let this process, and all that it starts from now on, have the local time of `zone`, as Spark's SQL writes it.

    Functions of the job, which get local times without a zone, then see the times that its SQL sees, in every replica.
    """
    os.environ["TZ"] = as_variable(zone)
    time.tzset()


def as_variable(zone: str) -> str:
    """The zone as `TZ` has it: a region as it is; an offset with a name, and of the other sign."""
    zone = zone.strip()
    found = _OFFSET.fullmatch(zone)
    if found is None:
        return "UTC" if zone == "Z" else zone
    sign, *parts = found.groups(default="00")
    numbers = [f"{int(part):02}" for part in parts]
    back = "-" if sign == "+" else "+"
    return f"<{sign}{''.join(numbers)}>{back}{':'.join(numbers)}"
