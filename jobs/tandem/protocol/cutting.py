"""Where the next epoch ends: everything that is available, or a fair share of it, in records and in bytes."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tandem.protocol.values import Offsets, TopicPartition


def next_ends(
    last: Offsets,
    available: Offsets,
    max_records: int,
    turn: int = 0,
    is_first: Callable[[TopicPartition], bool] = lambda _: False,
) -> Offsets:
    """The ends of the next epoch: at most `max_records` beyond `last`, shared fairly over the inputs.

    Fair is max-min: an input that has little gets all it has, the others share the rest equally, so one busy input never
    starves another. Where there is not even a record for each, they take turns: `turn` is the number of the epoch. An input
    that appears for the first time starts at offset 0. Offsets never go back, even where `available` does (a broker that
    answers with an older end).

    Of inputs that are `is_first`, as tables are, all is taken before any record of another: so an epoch's records meet the
    tables at least as they were when it was cut.

    >>> a, b = TopicPartition("in", 0), TopicPartition("in", 1)
    >>> next_ends(Offsets({a: 0, b: 0}), Offsets({a: 100, b: 3}), 10)
    Offsets(in/0:7, in/1:3)
    """
    starts = {tp: last.get(tp, 0) for tp in {*last, *available}}
    waiting = {tp: max(0, available.get(tp, 0) - start) for tp, start in starts.items()}
    first = {tp: count for tp, count in waiting.items() if is_first(tp)}
    others = {tp: count for tp, count in waiting.items() if tp not in first}
    shares = _shared(first, max_records, turn)
    shares |= _shared(others, max_records - sum(first.values()), turn)
    return Offsets({tp: start + shares[tp] for tp, start in starts.items()})


def _shared(waiting: dict[TopicPartition, int], budget: int, turn: int) -> dict[TopicPartition, int]:
    if sum(waiting.values()) <= budget:
        return waiting
    return _max_min_fair(waiting, budget, turn) if budget > 0 else dict.fromkeys(waiting, 0)


def _max_min_fair(waiting: dict[TopicPartition, int], budget: int, turn: int = 0) -> dict[TopicPartition, int]:
    shares = dict.fromkeys(waiting, 0)
    hungry = sorted(tp for tp, records in waiting.items() if records)
    if budget < len(hungry):
        first = turn * budget % len(hungry)
        return shares | dict.fromkeys((hungry + hungry)[first : first + budget], 1)
    smallest_first = sorted(waiting, key=lambda tp: (waiting[tp], tp))
    for position, tp in enumerate(smallest_first):
        remaining = len(smallest_first) - position
        # Rounded up: inputs where none wait count among the remaining, too.
        shares[tp] = min(waiting[tp], budget // remaining if budget >= remaining else min(1, budget))
        budget -= shares[tp]
    return shares


class Sizes(NamedTuple):
    """The records of one input behind the last cut: their offsets, ascending, and bytes. None before `to` is missing."""

    offsets: tuple[int, ...]
    weights: tuple[int, ...]
    to: int


def ends_within(
    last: Offsets, ends: Offsets, sizes: Mapping[TopicPartition, Sizes], max_bytes: int, turn: int
) -> Offsets:
    """`ends`, or so much less that the records from `last` on have at most `max_bytes`; a single record may have more.

    What is not counted is not taken. The bytes are shared fairly, as `next_ends` shares records. What is left of the shares
    goes to further records, one of an input. The inputs take turns in being first, and the first one gets its first
    record in any case: so each goes on, however large its records.

    >>> a, b = TopicPartition("in", 0), TopicPartition("in", 1)
    >>> large, small = Sizes((0, 1, 2), (60, 60, 60), 3), Sizes((0, 1), (5, 5), 2)
    >>> ends_within(Offsets({a: 0, b: 0}), Offsets({a: 3, b: 2}), {a: large, b: small}, 100, turn=0)
    Offsets(in/0:1, in/1:2)
    """
    counted = {tp: _before(sizes[tp], min(ends[tp], sizes[tp].to)) if tp in sizes else _NOTHING for tp in ends}
    totals = {tp: sum(one.weights) for tp, one in counted.items()}
    if sum(totals.values()) <= max_bytes:
        return Offsets({tp: max(last.get(tp, 0), one.to) for tp, one in counted.items()})
    waiting = [tp for tp, one in counted.items() if one.weights]
    first = next(_from(turn, waiting))
    taken = {first: 1}
    shares = _max_min_fair(
        totals | {first: totals[first] - counted[first].weights[0]},
        max(0, max_bytes - counted[first].weights[0]),
    )
    for tp in waiting:
        taken[tp] = _prefix(counted[tp].weights, shares[tp], taken.get(tp, 0))
    left = max_bytes - sum(sum(counted[tp].weights[:count]) for tp, count in taken.items())
    for tp in _from(turn, waiting):  # a share may be less than a record, and all of them together hold many
        following = counted[tp].weights[taken[tp] : taken[tp] + 1]
        if following and following[0] <= left:
            taken[tp] += 1
            left -= following[0]
    return Offsets({tp: max(last.get(tp, 0), _end(one, taken.get(tp, 0))) for tp, one in counted.items()})


def ends_first(
    last: Offsets,
    ends: Offsets,
    sizes: Mapping[TopicPartition, Sizes],
    max_bytes: int,
    turn: int,
    is_first: Callable[[TopicPartition], bool],
) -> Offsets:
    """As `ends_within`, but other inputs only take part when those that are `first` are taken to their `ends`.

    >>> rules, a = TopicPartition("rules", 0), TopicPartition("in", 0)
    >>> sizes = {rules: Sizes((0, 1), (60, 60), 2), a: Sizes((0,), (5,), 1)}
    >>> last, ends = Offsets({rules: 0, a: 0}), Offsets({rules: 2, a: 1})
    >>> ends_first(last, ends, sizes, 100, 0, lambda tp: tp.topic == "rules")
    Offsets(in/0:0, rules/0:1)
    >>> ends_first(last, ends, sizes, 200, 0, lambda tp: tp.topic == "rules")
    Offsets(in/0:1, rules/0:2)
    """
    first = Offsets({tp: end for tp, end in ends.items() if is_first(tp)})
    others = Offsets({tp: end for tp, end in ends.items() if tp not in first})
    if not first:
        return ends_within(last, ends, sizes, max_bytes, turn)
    taken = ends_within(last, first, sizes, max_bytes, turn)
    left = max_bytes - sum(sum(_before(sizes[tp], end).weights) for tp, end in taken.items() if tp in sizes)
    if left <= 0 or any(taken[tp] < end for tp, end in first.items()):
        rest = Offsets({tp: last.get(tp, 0) for tp in others})
    else:
        rest = ends_within(last, others, sizes, left, turn) if others else others
    return Offsets({**taken, **rest})


def beyond_gaps(start: int, end: int, available: int, offsets: Sequence[int], to: int) -> int:
    """Where an epoch ends in one input if it takes `end - start` records, not offsets: compaction may leave few of many.

    `available` : where the input ends.
    `offsets` : of the records behind `start` that were counted, ascending; none before `to` is missing.

    >>> beyond_gaps(0, 10, 5_000, [4_000, 4_001], 4_002)
    4002
    >>> beyond_gaps(0, 1, 5_000, [4_000, 4_100], 4_101)
    4100
    """
    count = end - start
    if count <= 0 or to <= end:
        return end
    return max(end, min(available, offsets[count] if count < len(offsets) else to))


def _from(turn: int, inputs: Sequence[TopicPartition]) -> Iterator[TopicPartition]:
    first = turn % len(inputs)
    yield from inputs[first:]
    yield from inputs[:first]


_NOTHING = Sizes((), (), 0)


def _before(sizes: Sizes, end: int) -> Sizes:
    count = bisect_left(sizes.offsets, end)
    return Sizes(sizes.offsets[:count], sizes.weights[:count], end)


def _prefix(weights: tuple[int, ...], budget: int, count: int) -> int:
    """How many records there are, from the first on, if behind the first `count` no more than `budget` bytes are taken."""
    while count < len(weights) and weights[count] <= budget:
        budget -= weights[count]
        count += 1
    return count


def _end(sizes: Sizes, count: int) -> int:
    """Behind the first `count` records, and whatever stands between them and the next: marks of transactions."""
    return sizes.offsets[count] if count < len(sizes.offsets) else sizes.to
