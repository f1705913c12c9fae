"""How soon one Python thread makes way for another in a process whose threads hand each epoch on.

A thread that wakes, because Kafka or the engine has answered, asks for the interpreter's lock. The one that holds it goes on
for up to the switch interval, by default 5 ms (`sys.setswitchinterval`). An epoch passes four or five such hand-overs; each
needs the lock for a fraction of a millisecond.
"""

import sys
from typing import Final

INTERVAL_S: Final = 0.0005


def take_short_turns() -> None:
    """Let the threads of this process take turns of half a millisecond. To be called once, when it starts."""
    sys.setswitchinterval(INTERVAL_S)
