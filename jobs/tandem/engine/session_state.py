"""What a job's function leaves behind in its session: it is called more than once, and each call begins alike."""

from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import SparkSession

_BETWEEN: Final = "\x1e"


def settings_of(session: SparkSession) -> dict[str, str]:
    """The settings of a session that have a value, and that are Spark's or look so."""
    text: str = session._jsparkSession.conf().getAll().mkString(_BETWEEN)  # one call, not one for each
    pairs = (setting.partition(" -> ") for setting in text.split(_BETWEEN))
    return {name: value for name, _, value in pairs if name.startswith("spark.")}


def changed_settings(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """What the job's code has set."""
    names = sorted(before.keys() | after.keys())
    return {name: after.get(name, "") for name in names if before.get(name) != after.get(name)}


def copied(session: SparkSession) -> SparkSession:
    """A session that begins as `session` is: with its settings, temporary views and functions. Later changes of one do not
    reach the other."""
    copy = session._jsparkSession.cloneSession()
    copy.sessionState().catalog()  # Spark copies the views when it is asked for the first time
    return SparkSession(session.sparkContext, copy)


def views_of(session: SparkSession) -> dict[str, frozenset[str]]:
    """The names of temporary views: those of the session, and global ones."""
    catalog: Any = session._jsparkSession.sessionState().catalog()
    local = catalog.listLocalTempViews("*").iterator()
    shared = catalog.globalTempViewManager().listViewNames("*").iterator()
    names = set()
    while local.hasNext():
        names.add(str(local.next().table()))
    others = set()
    while shared.hasNext():
        others.add(str(shared.next()))
    return {"local": frozenset(names), "global": frozenset(others)}


def forget_views(session: SparkSession, but: Mapping[str, frozenset[str]]) -> None:
    """Drop temporary views but those of `but`, global ones too; plans that were made with them stay as they are."""
    catalog: Any = session._jsparkSession.sessionState().catalog()
    there = views_of(session)
    for name in there["local"] - but["local"]:
        session.catalog.dropTempView(name)
    for name in there["global"] - but["global"]:
        catalog.globalTempViewManager().remove(name)
