"""The schemas of a job, as a replica asks the registry for them."""

import os
import time
from collections.abc import Callable, Mapping
from typing import Final

from tandem.formats.registry import RegistryTroubleError
from tandem.formats.resolved import Formats
from tandem.formats.schemas import SchemaError
from tandem.manifest import Manifest, SecretError
from tandem.process.info import RefusedError
from tandem.waiting import Deadline

_AGAIN_S: Final = 0.5


def formats_of(
    manifest: Manifest,
    agreed: Mapping[str, str],
    timeout_s: float = 0.0,
    at: Callable[[str], None] = lambda _: None,
    may_register: bool = False,
) -> Formats:
    """The schemas that the job is read by; those that it is written by are found with its plan.

    `agreed` : what the job's generation began with, see `Pins.parts`.
    `timeout_s` : how long to ask a registry that gives no answer. `at`: called with why it is asked again.
    `may_register` : whether a sink's schema may be registered.

    Raises `RefusedError`: there is no such schema, or no secret; `RegistryTroubleError`.
    """
    deadline = Deadline(timeout_s)
    while True:
        try:
            return Formats.of(manifest, os.environ, agreed, may_register)
        except (SchemaError, SecretError) as error:
            raise RefusedError(str(error)) from error
        except RegistryTroubleError as error:
            if deadline.passed:
                raise
            at(str(error))
        time.sleep(_AGAIN_S)
