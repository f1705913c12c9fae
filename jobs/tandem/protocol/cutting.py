"""Where the next epoch ends: everything that is available, or a fair share of it."""

from __future__ import annotations

from tandem.protocol.values import Positions, TopicPartition


def next_ends(last: Positions, available: Positions, max_records: int) -> Positions:
    """The ends of the next epoch: at most `max_records` beyond `last`, shared fairly over the inputs.

    Fair is max-min: an input that has little gets all it has, the others share the rest equally, so one busy input never
    starves another. An input that appears for the first time starts at offset 0. Positions never go back, even where
    `available` does (a broker that answers with an older end).

    Examples
    --------
    >>> a, b = TopicPartition("in", 0), TopicPartition("in", 1)
    >>> next_ends(Positions({a: 0, b: 0}), Positions({a: 100, b: 3}), 10)
    Positions(in/0:7, in/1:3)
    """
    starts = {tp: last.get(tp, 0) for tp in {*last, *available}}
    waiting = {tp: max(0, available.get(tp, 0) - start) for tp, start in starts.items()}
    shares = _max_min_fair(waiting, max_records)
    return Positions({tp: start + shares[tp] for tp, start in starts.items()})


def _max_min_fair(wishes: dict[TopicPartition, int], budget: int) -> dict[TopicPartition, int]:
    shares = dict.fromkeys(wishes, 0)
    smallest_first = sorted(wishes, key=lambda tp: (wishes[tp], tp))
    for position, tp in enumerate(smallest_first):
        remaining = len(smallest_first) - position
        # Rounded up, so that a budget smaller than the number of inputs still moves somebody.
        shares[tp] = min(wishes[tp], budget // remaining if budget >= remaining else min(1, budget))
        budget -= shares[tp]
    return shares
