"""Talks to a schema registry, with Confluent's client. What was read by its id is kept: it never changes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from tandem.formats.schemas import RegisteredSchema
from tandem.formats.unknown import UnknownIds
from tandem.kafka.errors import ConnectionFailedError, ReadTimeoutError
from tandem.logs import get_logger
from tandem.waiting import Deadline

_log = get_logger(__name__)

_REQUEST_S: Final = 5
_AGAIN_S: Final = 0.5
_AT_ONCE: Final = 16
"""So many schemas are asked for side by side."""
_NOT_FOUND: Final = (40401, 40402, 40403)
"""The registry's own codes for a subject, a version and a schema that it has not got. Any other 404 is of something else in
its place, as a proxy while the registry is away."""
_LARGEST_ID: Final = 2**31 - 1
"""A registry's ids are 32-bit numbers with a sign. To a larger one it answers with a 404 that has no such code."""

Wait = Callable[[str], None]
"""Called again and again with what is waited for. Raises when nobody waits any longer."""


class RegistryTroubleError(ConnectionFailedError):
    """The registry does not answer, or not with a schema: it is down, or refuses the login. Later it may."""


class RegistryTimeoutError(ReadTimeoutError):
    """The registry did not give a schema in the longest time that a replica waits for one."""


class SchemaRegistry:
    """One registry. Its methods may be called from any thread.

    `properties` : see `SchemaRegistrySpec.client_properties`.
    `clock_s` : any monotonic clock, s.
    """

    def __init__(self, properties: Mapping[str, Any], clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._properties = {**properties, "timeout": _REQUEST_S, "max.retries": 0}
        self._lock = threading.Lock()
        self._made: Any = None
        self._known: dict[int, RegisteredSchema] = {}
        self._unknown = UnknownIds(clock_s)

    def known(self, schema_id: int) -> RegisteredSchema | None:
        """A schema that `fetch` was asked for; None: the registry had none of that id when it was asked last."""
        return self._known.get(schema_id)

    def fetch(self, ids: Collection[int], wait: Wait, most_s: float) -> None:
        """Make sure that these schemas are `known`. While the registry is down, wait for it.

        An id that it did not have is asked for again, not each time; see `UnknownIds`. One that no registry has is not asked
        for: four bytes of a record that is framed by chance may be any number.

        Raises `RegistryTimeoutError` after `most_s`, and what `wait` raises.
        """
        possible = sorted(one for one in ids if one <= _LARGEST_ID)
        missing = [one for one in possible if one not in self._known and self._unknown.is_due(one)]
        if not missing:
            return
        deadline, has_waited = Deadline(most_s), False
        is_patient, patience = False, None
        while True:
            try:
                absent = self._absent(missing, wait)
            except RegistryTroubleError as error:
                one = next((one for one in missing if one not in self._known), missing[0])
                _log.debug("registry_waited_for", schema=one, reason=str(error))
                if deadline.passed:
                    raise RegistryTimeoutError(
                        f"schema {one} did not come within {most_s:.0f} s, and its records cannot be read without it. "
                        f"Nothing was skipped: {error}"
                    ) from error
                patience = None
                self._pause(wait, f"the schema registry, for schema {one} ({error})")
                continue
            if has_waited and len(absent) < len(missing):
                self._unknown.came_late()
            new = [one for one in absent if self._unknown.is_new(one)]
            self._unknown.note(set(absent).difference(new), was_patient=False)
            if patience is None:
                is_patient = self._unknown.is_patient(new, max(self._known, default=0))
                patience = Deadline(self._unknown.patience_s(is_patient))
            if not new or patience.passed:
                self._unknown.note(new, was_patient=is_patient and bool(new))
                return
            missing, has_waited = new, True
            self._pause(wait, f"the schema registry, which does not know schema {new[0]}", patience.remaining_s)

    def _absent(self, ids: Sequence[int], wait: Wait) -> list[int]:
        """Ask for schemas side by side; those that the registry has not got. Raises `RegistryTroubleError`, and what `wait`
        raises."""
        if len(ids) == 1:
            return [] if self.by_id(ids[0]) else list(ids)
        absent = []
        with ThreadPoolExecutor(_AT_ONCE, "registry") as pool:
            for start in range(0, len(ids), _AT_ONCE):
                if start:
                    wait(f"the schema registry, for {len(ids) - start} more schemas")
                some = ids[start : start + _AT_ONCE]
                absent += [one for one, found in zip(some, pool.map(self.by_id, some), strict=True) if found is None]
        return absent

    def by_id(self, schema_id: int) -> RegisteredSchema | None:
        """A schema; None: the registry says that it has none of that id. Raises `RegistryTroubleError`."""
        known = self._known.get(schema_id)
        if known is not None:
            return known
        found = self._asked(lambda client: client.get_schema(schema_id))
        if found is None:
            return None
        self._known[schema_id] = schema = self._complete(schema_id, found)
        return schema

    def newest(self, subject: str) -> RegisteredSchema | None:
        """The newest schema of a subject; None: it has none. Raises `RegistryTroubleError`."""
        found = self._asked(lambda client: self._latest(client, subject))
        return None if found is None else self._complete(int(found.schema_id), found.schema)

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """Register a schema under a subject; its id, the same each time. Raises `RegistryTroubleError`, also if the
        registry refuses it."""
        from confluent_kafka.schema_registry import Schema

        given = Schema(schema.text, schema_type=schema.kind)
        found = self._asked(lambda client: client.register_schema(subject, given))
        if found is None:
            raise RegistryTroubleError(f"{self._place} has no place for subject {subject}")
        return int(found)

    def lookup(self, subject: str, schema: RegisteredSchema) -> int | None:
        """The id of a schema that is registered under a subject; None: it is not. Raises `RegistryTroubleError`."""
        from confluent_kafka.schema_registry import Schema

        given = Schema(schema.text, schema_type=schema.kind)
        found = self._asked(lambda client: client.lookup_schema(subject, given))
        return None if found is None else int(found.schema_id)

    @staticmethod
    def _latest(client: Any, subject: str) -> Any:
        client.clear_latest_caches()
        return client.get_latest_version(subject)

    def _complete(self, schema_id: int, given: Any) -> RegisteredSchema:
        """With the schemas that it refers to."""
        references = []
        for one in given.references or ():
            found = self._asked(lambda client, one=one: client.get_version(one.subject, one.version))  # type: ignore[misc]
            if found is None:
                raise RegistryTroubleError(
                    f"schema {schema_id} refers to {one.subject}, version {one.version}, which {self._place} has not got"
                )
            references.append((str(one.name), self._complete(int(found.schema_id), found.schema)))
        return RegisteredSchema(schema_id, given.schema_type or "AVRO", given.schema_str, tuple(references))

    @property
    def _place(self) -> str:
        return f"the schema registry {self._properties['url']}"

    def _asked(self, question: Callable[[Any], Any]) -> Any:
        """The answer; None: there is no such thing. Raises `RegistryTroubleError`."""
        from confluent_kafka.schema_registry.error import SchemaRegistryError

        try:
            return question(self._client())
        except SchemaRegistryError as error:
            if error.error_code in _NOT_FOUND:
                return None
            raise RegistryTroubleError(f"{self._place} answers: {error}") from error
        except Exception as error:  # of whatever lies under the client
            said = str(error).strip() or "it does not answer"
            raise RegistryTroubleError(f"{self._place} gives no answer: {type(error).__name__}: {said}") from error

    def _client(self) -> Any:
        from confluent_kafka.schema_registry import SchemaRegistryClient

        with self._lock:
            if self._made is None:
                self._made = SchemaRegistryClient(dict(self._properties))
            return self._made

    @staticmethod
    def _pause(wait: Wait, what: str, most_s: float = _AGAIN_S) -> None:
        wait(what)
        time.sleep(min(_AGAIN_S, most_s))
