"""How far apart in time lanes are that become one: what one of them has not read yet may be late in the new lane."""

from collections.abc import Mapping
from typing import Final

from tandem.local.lane_states import States
from tandem.process.info import RefusedError
from tandem.protocol.lanes import came_from
from tandem.protocol.values import Offsets
from tandem.state.divide import watermark_ms

MOST_APART_MS: Final = 60_000
"""Lanes stop one after the other, so they are always some seconds apart."""


def unread(position: Offsets, ends: Offsets) -> int:
    """How many records there are between where a lane stopped and the ends of its partitions."""
    return sum(max(0, ends.get(tp, offset) - offset) for tp, offset in position.items())


def check_times(states: States, left: Mapping[int, int]) -> None:
    """Raise `RefusedError` if a lane that becomes one with others has records to read, and is more than a minute behind.

    By their watermarks: the new lane goes on with the newest of them, and drops what is older. `left` : lane before → how
    many records it has to read. Not of jobs with several watermarks, one of which may be that of a quiet source.
    """
    times = {lane: watermark_ms(state) for lane, state in states.exact.items()}
    if None in times.values():
        return
    for lane in range(states.lanes):
        seen = {old: times.get(old) or 0 for old in came_from(lane, states.lanes, states.before)}
        newest = max(seen, key=lambda old: seen[old])
        for old, time in seen.items():
            if seen[newest] - time > MOST_APART_MS and left.get(old, 0):
                how, records = _behind(time, seen[newest]), _records(left[old])
                raise RefusedError(
                    f"lane {old} {how} lane {newest}, by their watermarks, and has {records} to read. Lane {lane} goes on "
                    "from both with the newer watermark, and would drop as late what is older. Let the job go on with "
                    f"{states.before} lanes, and change their number when all have read to the end (tandem status: LAG); "
                    "if records keep coming, while their producers pause"
                )


def _behind(time: int, newest: int) -> str:
    minutes = (newest - time) // 60_000
    return f"is {minutes:,} minute{'' if minutes == 1 else 's'} behind" if time else "has seen no time yet, unlike"


def _records(count: int) -> str:
    return f"{count:,} record{'' if count == 1 else 's'}"
