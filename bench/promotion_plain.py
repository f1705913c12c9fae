"""Plain Spark with the same state and traffic, killed and restarted at once: what a promotion is compared with."""

from __future__ import annotations

import time

from bench.plan import CONFIGURATIONS, Run
from bench.progress import must_wait, spend
from bench.promotion_stage import Setting, Traffic, stage
from bench.systems import Place, PlainSpark

_FILLED_S = 240.0
_PATIENCE_S = 120.0
_SETTLED_S = 20.0


def restart_gaps(setting: Setting, kills: int) -> list[float]:
    """Of each kill, for how long the output was silent, ms. Raises `RuntimeError` if Spark does not keep up."""
    run = Run(CONFIGURATIONS["plain-tuned"], "latest", 0)
    with stage() as there:
        here = there.folder / "plain", there.memory / "plain"
        place = Place("plain", there.kafka.bootstrap, there.zookeeper.connect, "in", "out", *here)
        spark, traffic = PlainSpark(run, place), Traffic(there.kafka.bootstrap, "in", "out", setting.keys)
        try:
            spark.start()
            traffic.fill()
            must_wait(spark, lambda: not traffic.waiting, _FILLED_S, "every key in the state")
            traffic.rate = setting.rate
            return [_kill(spark, traffic) for _ in range(kills)]
        finally:
            spark.stop()
            traffic.stop()


def _kill(spark: PlainSpark, traffic: Traffic) -> float:
    spend(spark, _SETTLED_S)
    at = time.time()
    spark.kill(spark.NAME)
    must_wait(spark, lambda: any(t > at + 1 for t in traffic.arrivals[-1:]), _PATIENCE_S, "output after the kill")
    return traffic.longest_gap_ms(at - 1, time.time())
