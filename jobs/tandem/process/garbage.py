"""How often Python looks for reference cycles in a process through whose hands records go.

By default the collector looks after every 700 new objects, and walks the whole heap now and then. Each record is a handful
of objects, all of which live until their epoch is published and then go by their reference counts: there is nothing to find,
and looking took more processor time than making an output record does, and held all threads meanwhile.
"""

import gc
from typing import Final

NEW_OBJECTS: Final = 200_000
"""As many as 20,000 records have between being read and being published. That many objects in cycles are some 20 MB."""


def collect_rarely() -> None:
    """Collect once, leave out of every later collection what lives now, and look for cycles after `NEW_OBJECTS` only.

    To be called when a process has what it needs: modules, clients, Spark's session.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, *gc.get_threshold()[1:])
