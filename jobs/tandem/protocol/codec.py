"""Proposals and markers as bytes of a Kafka record. JSON: readable with any Kafka tool, and nothing is unpickled."""

import json
from typing import Any

from tandem.protocol.values import (
    Claim,
    Config,
    Cut,
    Determinant,
    LagReport,
    Marker,
    Offsets,
    Proposal,
    TopicIds,
    TopicPartition,
)


class CodecError(ValueError):
    """A record of an ordering or commits topic that is not one of ours."""


def encode_proposal(proposal: Proposal) -> bytes:
    """One proposal as the value of a record of the ordering topic."""
    body: dict[str, Any]
    match proposal:
        case Config(generation, digest, start, proposer, base, savepoint, topic_ids, barriers, lane, lanes, moved):
            body = {"type": "config", "generation": generation, "digest": digest, "start": positions_json(start)}
            body |= {"proposer": proposer, "base": base, "savepoint": savepoint} | _topics_json(topic_ids)
            body |= _if_set("barriers", barriers) | ({"lane": lane, "lanes": lanes} if lanes else {})
            body |= _if_set("moved", moved)
        case Cut(epoch, ends, time_ms, seed, proposer, topic_ids, barrier):
            body = {"type": "cut", "epoch": epoch, "ends": positions_json(ends), "time": time_ms, "seed": seed}
            body |= {"proposer": proposer} | _topics_json(topic_ids) | _if_set("barrier", barrier)
        case Claim(epoch, attempt, owner, generation):
            body = {"type": "claim", "epoch": epoch, "attempt": attempt, "owner": owner, "generation": generation}
        case Determinant(epoch, name, part, parts, answers, proposer):
            body = {"type": "determinant", "epoch": epoch, "name": name, "part": part, "parts": parts}
            body |= {"answers": answers, "proposer": proposer}
        case LagReport(replica, epoch, epoch_ms):
            body = {"type": "progress", "replica": replica, "epoch": epoch, "epoch_ms": round(epoch_ms, 3)}
    return _dump(body)


def decode_proposal(value: bytes | None) -> Proposal:
    """The proposal in a record of the ordering topic. Raises `CodecError` if it is none."""
    body = _load(value)
    try:
        match body["type"]:
            case "config":
                return _config(body)
            case "cut":
                return _cut(body)
            case "claim":
                generation = int(body.get("generation", 0))
                return Claim(int(body["epoch"]), int(body["attempt"]), str(body["owner"]), generation)
            case "determinant":
                return _determinant(body)
            case "progress":
                return LagReport(str(body["replica"]), int(body["epoch"]), float(body["epoch_ms"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CodecError(f"not a proposal: {value!r} ({error})") from error
    raise CodecError(f"not a proposal: {value!r} (unknown type)")


def encode_marker(marker: Marker) -> bytes:
    """One epoch marker as the value of a record of the commits topic."""
    body: dict[str, Any] = {"epoch": marker.epoch, "attempt": marker.attempt, "owner": marker.owner}
    body |= {"digest": marker.digest, "rows": marker.rows, "log": marker.log_offset}
    body |= {"generation": marker.generation, "config": marker.config_offset}
    body |= {"inputs": marker.inputs} if marker.inputs else {}
    return _dump(body | _if_set("skipped", marker.skipped))


def decode_marker(value: bytes | None) -> Marker:
    """The marker in a record of the commits topic. Raises `CodecError` if it is none."""
    body = _load(value)
    try:
        return Marker(
            int(body["epoch"]),
            int(body["attempt"]),
            str(body["owner"]),
            str(body["digest"]),
            int(body["rows"]),
            int(body["log"]),
            bool(body.get("skipped", False)),
            int(body.get("generation", 0)),
            int(body.get("config", 0)),
            str(body.get("inputs", "")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CodecError(f"not an epoch marker: {value!r} ({error})") from error


def positions_json(positions: Offsets) -> dict[str, dict[str, int]]:
    """`{topic: {partition: offset}}`, as Spark's Kafka source writes its offsets."""
    result: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in positions.items():
        result.setdefault(topic, {})[str(partition)] = offset
    return result


def positions_from_json(body: dict[str, dict[str, int]]) -> Offsets:
    """The inverse of `positions_json`."""
    return Offsets(
        (TopicPartition(topic, int(partition)), int(offset))
        for topic, partitions in body.items()
        for partition, offset in partitions.items()
    )


def _config(body: dict[str, Any]) -> Config:
    identity = int(body["generation"]), str(body["digest"]), positions_from_json(body["start"]), str(body["proposer"])
    origin = int(body.get("base", -1)), str(body.get("savepoint", "")), _topics_from_json(body)
    lane = int(body.get("lane", 0)), int(body.get("lanes", 0)), bool(body.get("moved", False))
    return Config(*identity, *origin, bool(body.get("barriers", False)), *lane)


def _cut(body: dict[str, Any]) -> Cut:
    what = int(body["epoch"]), positions_from_json(body["ends"]), int(body["time"]), int(body["seed"])
    return Cut(*what, str(body["proposer"]), _topics_from_json(body), bool(body.get("barrier", False)))


def _if_set(name: str, flag: bool) -> dict[str, bool]:
    """Nothing where it is not: such a record is what earlier versions write, byte for byte."""
    return {name: True} if flag else {}


def _topics_json(topic_ids: TopicIds) -> dict[str, Any]:
    """Nothing where no id is known: such a record is what earlier versions write, byte for byte."""
    return {"topics": dict(topic_ids)} if topic_ids else {}


def _topics_from_json(body: dict[str, Any]) -> TopicIds:
    return tuple(sorted((str(topic), str(number)) for topic, number in body.get("topics", {}).items()))


def _determinant(body: dict[str, Any]) -> Determinant:
    answers = tuple(body["answers"])
    if not all(answer is None or isinstance(answer, str) for answer in answers):
        raise TypeError("an answer is text or null")
    place = int(body["epoch"]), str(body["name"]), int(body["part"]), int(body["parts"])
    return Determinant(*place, answers, str(body["proposer"]))


def _dump(body: dict[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()


def _load(value: bytes | None) -> dict[str, Any]:
    try:
        body = json.loads(value or b"")
    except ValueError as error:
        raise CodecError(f"not JSON: {value!r}") from error
    if not isinstance(body, dict):
        raise CodecError(f"not a JSON object: {value!r}")
    return body
