"""The order of the rows inside an epoch: the round-robin merge of its inputs, in closed form.

Records of several partitions reach each replica in another interleaving. All replicas number them alike: with c_q records
of input q in the epoch, the record at position i of input p gets

    seq = sum over q of min(c_q, i)  +  |{q < p : c_q > i}|

which is the index that a merge taking one record of each input in turn would give it (Rosinosky et al., heartbeat
ordering), computed for all records at once.
"""

from collections.abc import Sequence
from itertools import chain
from typing import TypeVar

import numpy as np
import numpy.typing as npt

_Record = TypeVar("_Record")


def merge_order(counts: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """`seq` of every record of an epoch.

    `counts` : c_q, records of each input in the epoch, shape (inputs,), in the order of topic, then partition.

    Returns
    -------
    shape (sum of counts,): the seq of input 0's records, then of input 1's, …; a permutation of 0 … sum - 1.

    >>> merge_order([3, 1]).tolist()
    [0, 2, 3, 1]
    """
    sizes = np.asarray(counts, dtype=np.int64)
    if sizes.size == 1:
        return np.arange(int(sizes[0]), dtype=np.int64)
    longest = int(sizes.max(initial=0))
    # taken[i] = records handed out in the rounds before round i
    alive = sizes[:, None] > np.arange(longest)
    taken = np.concatenate(([0], np.cumsum(alive.sum(axis=0))))
    before: npt.NDArray[np.int64] = np.cumsum(alive, axis=0) - alive
    parts = [taken[: sizes[p]] + before[p, : sizes[p]] for p in range(sizes.size)]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def merged(inputs: Sequence[Sequence[_Record]]) -> list[_Record]:
    """The records of an epoch, those of each input in its order, in the order of `merge_order`.

    >>> merged(["abc", "x"])
    ['a', 'x', 'b', 'c']
    """
    order: list[_Record] = []
    taken = 0
    for size in sorted({len(records) for records in inputs}):
        left = [records[taken:size] for records in inputs if len(records) >= size]
        order += chain.from_iterable(zip(*left, strict=True))
        taken = size
    return order
