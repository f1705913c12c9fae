"""What the source's process must know: passed through the environment, since options of a query show in plans and logs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass

ENVIRONMENT_VARIABLE = "TANDEM_SOURCE"


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """How to reach the inputs and the log. `isolation`: input topic → isolation level."""

    properties: Mapping[str, str]
    ordering_topic: str
    isolation: Mapping[str, str]

    def publish(self) -> None:
        """Put the settings where the source's process finds them. Must precede the start of Spark's JVM."""
        os.environ[ENVIRONMENT_VARIABLE] = json.dumps(asdict(self))

    @classmethod
    def find(cls) -> SourceSettings:
        """The settings of this process's replica. Raises `RuntimeError` outside a replica."""
        text = os.environ.get(ENVIRONMENT_VARIABLE)
        if text is None:
            raise RuntimeError(f"{ENVIRONMENT_VARIABLE} is not set: the source only works inside a Tandem replica")
        return cls(**json.loads(text))
