"""What a job's identity is made of, part by part, and in which parts two identities differ. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType

from tandem.manifest.identity import MODULE, engine_part, lanes_part, parts_of
from tandem.protocol.values import Config

_PLAN, _TABLE, _SCHEMA, _FORMAT = "plan: ", "table: ", "schema: ", "plan: format"
_ENGINE = "engine"
_NAMED = 5
"""So many differences are named."""
_FACTS_FORMAT = "6"
"""Raised with what `facts_about` counts: plans of another format are not compared, so that Tandem can be upgraded."""
_WORDS = {
    "code": "the job's code (the bytes of spec.job.file or module)",
    "versions": "the versions of Python, PySpark, PyArrow, NumPy or pandas, or Tandem's format of state",
    "function": "spec.job.function",
    "options": "spec.job.options",
    "outputMode": "spec.job.outputMode",
    "onError": "spec.job.onError",
    "topics": "spec.kafka.topics",
    "parallelism": "spec.spark.parallelism",
    "rowOrder": "the order of an epoch's rows (with spec.spark.parallelism over 1, it was another one in earlier Tandems)",
    "conf": "spec.spark.conf (settings spark.sql.*)",
    "codecs": "the versions of fastavro or protobuf",
    "avroTimes": "how times of Avro records become rows (earlier Tandems took the reader's unit for the writer's)",
    "timeZone": "spec.spark.conf[spark.sql.session.timeZone] (earlier versions of Tandem computed in UTC all the same)",
}


def plan_parts(
    facts: Mapping[str, str],
    tables: Mapping[str, str],
    engine: str = "microBatch",
    schemas: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """Parts of an identity that are known with the plan: hashes of what it is made of, versions of its static tables, the
    engine that the job takes, and the schemas that it reads and writes by (`Pins.parts`).
    """
    part = engine_part(engine)
    return (
        {_FORMAT: _FACTS_FORMAT}
        | ({_ENGINE: part} if part else {})
        | {_PLAN + name: value for name, value in facts.items()}
        | {_TABLE + name: version for name, version in tables.items()}
        | {_SCHEMA + label: part for label, part in schemas.items()}
    )


def facts_format(config: Config) -> int:
    """Of the plan's facts in a generation; 0: it names none."""
    return int(parts_of(config.digest).get(_FORMAT, "0"))


def with_plan(digest: str, found: Mapping[str, str]) -> str:
    """The identity `digest` with the parts that are known with the plan, see `plan_parts`: the engine is the one found."""
    parts = {name: part for name, part in parts_of(digest).items() if name != _ENGINE}
    return identity_of({**parts, **found})


def plan_of(digest: str) -> dict[str, str]:
    """The parts of an identity that are known with the plan, see `plan_parts`."""
    return {name: part for name, part in parts_of(digest).items() if name == _ENGINE or _is_of_plan(name)}


def with_number_of_lanes(digest: str, lanes: int) -> str:
    """The identity of the same job with so many lanes, as it stands in a log that ends."""
    parts = {name: part for name, part in parts_of(digest).items() if name != "lanes"}
    return identity_of(parts | lanes_part(lanes))


def agreed_tables(config: Config) -> dict[str, str]:
    """The static tables that a generation began with: name → version."""
    parts = parts_of(config.digest)
    return {name.removeprefix(_TABLE): part for name, part in parts.items() if name.startswith(_TABLE)}


def agreed_modules(config: Config) -> dict[str, str]:
    """The modules that the code of a generation imports: name → hash; none if another Tandem has counted otherwise."""
    parts = parts_of(config.digest)
    if parts.get(_FORMAT) != _FACTS_FORMAT:
        return {}
    begin = _PLAN + MODULE
    return {name.removeprefix(begin): part for name, part in parts.items() if name.startswith(begin)}


def agreed_schemas(config: Config) -> dict[str, str]:
    """The schemas that a generation began with; see `Pins.parts`."""
    return schemas_in(parts_of(config.digest))


def schemas_in(parts: Mapping[str, str]) -> dict[str, str]:
    """The schemas among the parts of an identity."""
    return {name.removeprefix(_SCHEMA): part for name, part in parts.items() if name.startswith(_SCHEMA)}


def engine_of(parts: Mapping[str, str]) -> str:
    """The part that stands for the engine; see `engine_part`."""
    return parts.get(_ENGINE, "")


def _is_of_plan(name: str) -> bool:
    return name.startswith((_PLAN, _TABLE, _SCHEMA))


def different_in_plan(facts: Mapping[str, str], accepted: Config) -> str:
    """In which parts a plan differs from that of a generation, in words; "" if it does not.

    One that began before plans were part of identities has none. `facts`: see `plan_parts`. With another table, what is read
    of it is another part of the plan: tables come first.
    """
    if engine_of(facts) != engine_of(parts_of(accepted.digest)):
        return "different is the engine (spec.engine)"
    if not is_comparable(facts, accepted):
        return ""
    theirs = {name: part for name, part in parts_of(accepted.digest).items() if _is_of_plan(name)}
    names = {name for name in facts if _is_of_plan(name)} | theirs.keys()
    differing = [name for name in names if facts.get(name) != theirs.get(name)]
    differing.sort(key=lambda name: (not name.startswith((_SCHEMA, _TABLE)), name))
    words = [_word(name) for name in differing]
    more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return f"different {'is' if len(words) == 1 else 'are'} {', '.join(words[:_NAMED])}{more}" if words else ""


def is_comparable(facts: Mapping[str, str], accepted: Config) -> bool:
    """Whether a plan can be compared with that of a generation: another version of Tandem may have counted other facts."""
    return parts_of(accepted.digest).get(_FORMAT) == facts.get(_FORMAT)


def other_modules(facts: Mapping[str, str], accepted: Config) -> list[str]:
    """The modules that the job's code imports, as far as they are not those of a generation."""
    begin = _PLAN + MODULE
    mine, theirs = (
        {k: v for k, v in parts.items() if k.startswith(begin)} for parts in (facts, parts_of(accepted.digest))
    )
    return [
        name.removeprefix(begin) for name in sorted(mine.keys() | theirs.keys()) if mine.get(name) != theirs.get(name)
    ]


def _word(name: str) -> str:
    """What a part of a plan is called."""
    if name.startswith(_SCHEMA):
        return f"the registry's schema of {name.removeprefix(_SCHEMA)}"
    return f"the static table {name.removeprefix(_TABLE)}" if name.startswith(_TABLE) else name.removeprefix(_PLAN)


def is_same_job(mine: str, accepted: str) -> bool:
    """Whether two identities are of one job, as far as both know it: one of them may not have its plan yet."""
    if not parts_of(mine) or not parts_of(accepted):
        return mine == accepted
    return not _differing(parts_of(mine), parts_of(accepted))


def changed_parts(mine: str, accepted: str) -> list[str]:
    """The parts of an identity that another one has otherwise, without those of a plan; none if one of them has no parts."""
    ours, theirs = parts_of(mine), parts_of(accepted)
    return _differing(ours, theirs) if ours and theirs else []


def _differing(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    """The parts that differ, as far as they are known without a plan: which engine `auto` is, is not."""
    unknown = {_ENGINE} if engine_part("auto") in (engine_of(ours), engine_of(theirs)) else set()
    names = {name for name in ours.keys() | theirs.keys() if not _is_of_plan(name)} - unknown
    return sorted(name for name in names if ours.get(name) != theirs.get(name))


def identity_of(parts: Mapping[str, str]) -> str:
    """A `Config.digest` that tells in which part another one differs."""
    return json.dumps(parts, sort_keys=True, separators=(",", ":"))


def difference(mine: str, accepted: str) -> str:
    """In which parts two identities differ, in words."""
    try:
        ours, theirs = dict(json.loads(mine)), dict(json.loads(accepted))
    except (ValueError, TypeError):
        return "it was written by another version of Tandem"
    return "different are " + ", ".join(_WORDS.get(name, f"spec.{name}") for name in _differing(ours, theirs))


def differs_in(part: str, mine: str, accepted: str) -> bool:
    """Whether two identities differ in one part."""
    try:
        return bool(json.loads(mine).get(part) != json.loads(accepted).get(part))
    except (ValueError, AttributeError):
        return True
