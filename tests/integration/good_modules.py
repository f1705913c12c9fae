"""The modules that good jobs are made of, as people write them: what a job imports, and what stands above its functions."""

from __future__ import annotations

HELPER = '''
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
import numpy as np

LOG = logging.getLogger(__name__)
STOP = frozenset({"and", "or", "the"})


class Lookup:
    """Makes its client when it needs one."""

    def __init__(self, rates):
        self.rates, self._client, self._lock = rates, None, threading.Lock()

    def of(self, name):
        with self._lock:
            if self._client is None:
                self._client = object()
        LOG.debug("asked for %s", name)
        return self.rates.get(name, 0.0)


def clean(text):
    return " ".join(word for word in str(text).split() if word not in STOP)


POOL, LOCK, LOCAL, READY = ThreadPoolExecutor(2), threading.Lock(), threading.local(), threading.Event()
OPEN = open(__file__)
RANDOM = np.random.default_rng()


class Refresher(threading.Thread):
    def run(self):
        READY.wait(1)


REFRESHER = Refresher(daemon=True)
REFRESHER.start()


def alone(text):
    with LOCK:
        READY.set()
        return [len(text), POOL is not None, REFRESHER.daemon, OPEN.closed, RANDOM is None, getattr(LOCAL, "x", None)]
'''
SESSION = "from pyspark.sql import SparkSession\nspark = SparkSession.builder.appName('shared').getOrCreate()\n"
SHOP = """
from session import spark


def home(text):
    return text.lower()
"""
HEAD = '''
from __future__ import annotations
import argparse, datetime as dt, enum, functools, json, logging, os, re, sys, tempfile, threading, time, uuid, warnings
from collections import Counter, defaultdict, namedtuple
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from os import environ
from typing import Iterator
import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F, types as T
from pyspark.sql.functions import col, expr, lit, pandas_udf, udf
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.streaming import StatefulProcessor
from shop import home
from words import Lookup, alone, clean
import words

logging.basicConfig(level=logging.WARNING)
LOG = logging.getLogger(__name__)
warnings.filterwarnings("ignore")
sys.path.insert(0, os.path.dirname(__file__))
STARTED = dt.datetime.now()
LOG.info("imported at %s as %s by %s", STARTED, uuid.uuid4(), os.getpid())
print("imported", STARTED, __file__)
SCRATCH = tempfile.mkdtemp(prefix="model-")
POOL, LOCK, READY = ThreadPoolExecutor(2), threading.Lock(), threading.Event()
MASK = re.compile("[0-9]+")
LOOKUP = Lookup({"a": 1.5, "b": 2.5})
WORDS = {"b", "a", "c", "secret"}
HANDLERS = {"up": lambda text: text.upper(), "down": str.lower}
Point = namedtuple("Point", "x y")
OPEN = open(__file__)
RANDOM = np.random.default_rng()


class Kind(enum.Enum):
    FOOD, DRINK = "food", "drink"


@dataclass(frozen=True)
class Rule:
    name: str
    least: Decimal = Decimal("0.5")
    kinds: frozenset = frozenset({Kind.FOOD, Kind.DRINK})


RULES = {Rule("a"), Rule("b", Decimal(1))}


class Model:
    """As those of scikit-learn: arrays, settings, and a random state."""

    classes = {int, str, Decimal}

    def __init__(self):
        self.weights, self.random_state, self.names = np.linspace(0, 1, 5), np.random.RandomState(), ["a", "b"]

    def predict(self, frame):
        return frame.to_numpy().sum(axis=1) * self.weights.mean()


MODEL = Model()


@functools.lru_cache(maxsize=None)
def rate(name: str) -> float:
    return LOOKUP.of(name)


def retried(times=3):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*given):
            for _ in range(times):
                return function(*given)
        return wrapper
    return decorate


@udf("string")
def described(text: str) -> str:
    started = time.time()
    kinds = sorted(kind.value for kind in Kind)
    LOG.debug("%s %s", environ.get("HOSTNAME"), time.time() - started)
    names = [rule.name for rule in RULES if rule.least > 0]
    known = WORDS | words.STOP
    return json.dumps([MASK.sub("#", home(clean(text))), kinds, sorted(names), rate("a"), HANDLERS["up"]("x"), len(known),
                       os.path.join(SCRATCH, "x")[:0], str(Point(1, 2)), alone(text)])


@pandas_udf("double")
def predicted(numbers: pd.Series) -> pd.Series:
    return pd.Series(MODEL.predict(numbers.to_frame()))


def named(text, by=None, *, upper=False):
    return f"{by}{text}".upper() if upper else f"{by}{text}"


class Counting(StatefulProcessor):
    def init(self, handle):
        self.seen = handle.getValueState("seen", "n LONG")

    def handleInputRows(self, key, rows, timers):
        n = sum(len(frame) for frame in rows)
        yield pd.DataFrame({"value": [f"{key[0]} {n}"]})

    def close(self):
        pass


spark = SparkSession.builder.appName("mine").config("spark.sql.session.timeZone", "UTC").getOrCreate()
COUNTRIES = spark.createDataFrame([("a", "Austria"), ("b", "Belgium")], "code STRING, country STRING")
COUNTRIES.createOrReplaceTempView("countries")
BY_NAME = {row.code: row.country for row in COUNTRIES.collect()}
BLOCKED = spark.sparkContext.broadcast(WORDS)


def text(frame: DataFrame) -> DataFrame:
    return frame.withColumn("text", F.col("value").cast("string"))
'''
