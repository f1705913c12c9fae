"""Which watermarks of a plan may be idle: those over sources with an `idleTimeout`. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tandem.engine.plan_tree import Node, expressions, tree
from tandem.manifest import SourceSpec

_UNKNOWN: Final = frozenset[str]()


def idle_after(plan: Sequence[Mapping[str, Any]], sources: Sequence[SourceSpec]) -> dict[str, int]:
    """Identity of a watermark → after how many ms without a row it holds back no other one.

    `plan`: analysed, as Spark's `toJSON` gives it. A watermark over several sources is idle when all of them may be.
    """
    streams = _streams(sources)
    timeouts = {
        frozenset(source.topics): source.idle_timeout.ms for source in streams if source.idle_timeout is not None
    }
    found: dict[str, int] = {}
    for node in _watermarks(tree(iter(plan))) if timeouts else ():
        read = _read_of(node, streams)
        if read and read <= timeouts.keys():
            found[str(node.fields["nodeId"])] = max(timeouts[topics] for topics in read)
    return found


def without_watermark(plan: Sequence[Mapping[str, Any]], sources: Sequence[SourceSpec]) -> list[str]:
    """The names of sources whose `idleTimeout` has no effect.

    No watermark is over them, or only one over others, too, that are never idle.
    """
    streams = _streams(sources)
    given = [source for source in streams if source.idle_timeout is not None]
    nodes = list(_watermarks(tree(iter(plan)))) if given else []
    reads = [_read_of(node, streams) for node in nodes]
    timeouts = {frozenset(source.topics) for source in given}
    idle = {topics for read in reads if read <= timeouts for topics in read}
    return [source.name for source in given if frozenset(source.topics) not in idle]


def _streams(sources: Sequence[SourceSpec]) -> list[SourceSpec]:
    """Those that have a part of the one stream; a table is none, and is joined to it."""
    return [source for source in sources if source.table is None]


def _read_of(watermark: Node, streams: Sequence[SourceSpec]) -> set[frozenset[str]]:
    """The topics of each source below a watermark. The only stream has no filter: see `frames.split_sources`."""
    return _read(watermark) if len(streams) > 1 else {frozenset(streams[0].topics)}


def _watermarks(node: Node) -> Iterator[Node]:
    if node.name == "EventTimeWatermark":
        yield node
    for child in node.children:
        yield from _watermarks(child)


def _read(node: Node) -> set[frozenset[str]]:
    """The topics of each source that is read below, by the lowest filter, which is what makes it one."""
    found = {topics for child in node.children for topics in _read(child)}
    if node.name == "StreamingExecutionRelation":
        return {_UNKNOWN}
    if node.name == "Filter" and _UNKNOWN in found:
        (condition,) = expressions(node.fields["condition"])
        if condition.name == "In" and condition.children[0].fields.get("name") == "topic":
            topics = frozenset(str(literal.fields.get("value")) for literal in condition.children[1:])
            return (found - {_UNKNOWN}) | {topics}
    return found
