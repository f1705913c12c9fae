"""The session's time zone: spellings that Java, Python and pandas read alike. Pure."""

from __future__ import annotations

import re
import zoneinfo
from difflib import get_close_matches
from typing import Final

from tandem.manifest.spark_settings import Refusal

_JAVAS_NAMES: Final = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
    "Z": "UTC",
}
"""What Spark takes beside regions, and reads as: `java.time.ZoneId.SHORT_IDS`, where BST is not British."""
_FARTHEST_MIN: Final = 18 * 60
"""From UTC, for Java."""
_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?")
_EVERYWHERE: Final = re.compile(r"(?:UTC)?[+-]\d\d:\d\d")


def wrong_time_zone(zone: str) -> Refusal | None:
    """What is wrong with a value of spark.sql.session.timeZone; None: Java, Python and pandas read it, and alike.

    Regions and offsets as +02:00 are. With another spelling a job's Python functions would compute in another zone than
    Spark (PST, which Python takes for UTC), or fail at the first record (GMT+2, in pandas).
    """
    text = zone.strip()
    regions = zoneinfo.available_timezones()
    if not regions or text in regions:
        return None
    if text in _JAVAS_NAMES:
        region = _JAVAS_NAMES[text]
        return Refusal(f"{zone!r} is a name of Java's, for {region}, which Python does not know", f"Write {region}")
    if (offset := _offset(text)) is not None:
        if _EVERYWHERE.fullmatch(text):
            return None
        return Refusal(f"{zone!r} is an offset that only Java reads, not pandas", f"Write {offset}")
    near = get_close_matches(text, regions, 1, 0.6)
    example = f"Did you mean {near[0]}?" if near else "Write a region or an offset, e.g. Europe/Berlin, UTC, +02:00"
    return Refusal(f"{zone!r} is no time zone", example)


def _offset(text: str) -> str | None:
    found = _OFFSET.fullmatch(text)
    if found is None:
        return None
    hours, minutes = int(found[2]), int(found[3] or 0)
    if hours * 60 + minutes > _FARTHEST_MIN or minutes > 59:
        return None
    return f"{found[1]}{hours:02}:{minutes:02}"
