"""What an identity has of the facts of a plan, and of the modules that a job's code imports: hashes. Needs no Spark."""

import hashlib
import json
from collections.abc import Mapping
from typing import Final

_MOST: Final = 300
"""Facts with a name of their own; the others are counted together."""


def hashes(facts: Mapping[str, str]) -> dict[str, str]:
    """Facts as short hashes, not too many: what the log can hold."""
    named = dict(list(facts.items())[:_MOST])
    rest = json.dumps(list(facts.items())[_MOST:])
    found = {name: _hash_of(text.encode(errors="surrogatepass")) for name, text in named.items()}
    return found if len(facts) <= _MOST else {**found, "the rest of the plan": _hash_of(rest.encode())}


def hash_of_module(content: bytes) -> str:
    """That of a module with these bytes, which is the fact itself."""
    return _hash_of(content)


def _hash_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
