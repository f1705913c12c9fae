"""What a job's function leaves behind in its session: it is called more than once, and each call begins alike."""

from collections.abc import Mapping
from typing import Any, Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tandem.engine.jvm_plans import elements

_BETWEEN: Final = "\x1e"
_REGISTERED: Final = ("python_udf", "java_udf", "scala_udf")


def settings_of(session: SparkSession) -> dict[str, str]:
    """The settings of a session that have a value, and that are Spark's or look so."""
    text: str = session._jsparkSession.conf().getAll().mkString(_BETWEEN)  # one call, not one for each
    pairs = (setting.partition(" -> ") for setting in text.split(_BETWEEN))
    return {name: value for name, _, value in pairs if name.startswith("spark.")}


def default_of(session: SparkSession, name: str) -> str | None:
    """Spark's value of a setting that the session has no value of; None where there is none."""
    try:
        value = session.conf.get(name)
    except PySparkException:  # Spark does not know the name any more
        return None
    return None if value is None or value.startswith("<") else value  # <undefined>, <value of another setting>


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


def temporaries_of(session: SparkSession) -> dict[str, frozenset[str]]:
    """The names of temporary views, those of the session and global ones, and of temporary functions that SQL made; and
    whether there are variables of SQL, which Spark does not list."""
    catalog: Any = session._jsparkSession.sessionState().catalog()
    views = (view.table() for view in elements(catalog.listLocalTempViews("*")))
    functions = (one for one in elements(catalog.listTemporaryFunctions()) if _is_of_sql(catalog, one))
    return {
        "local": frozenset(map(str, views)),
        "global": frozenset(map(str, elements(catalog.globalTempViewManager().listViewNames("*")))),
        "functions": frozenset(str(one.funcName()) for one in functions),
        "variables": frozenset() if _variables(session).isEmpty() else frozenset({"some"}),
    }


def forget_temporaries(session: SparkSession, but: Mapping[str, frozenset[str]]) -> None:
    """Drop temporary views, functions and variables but those of `but`; plans that were made with them stay as they are."""
    catalog: Any = session._jsparkSession.sessionState().catalog()
    there = temporaries_of(session)
    for name in there["local"] - but["local"]:
        catalog.dropTempView(name)  # as `session.catalog` does, but what it shows stays cached
    for name in there["global"] - but["global"]:
        catalog.globalTempViewManager().remove(name)
    for name in there["functions"] - but["functions"]:
        catalog.dropTempFunction(name, True)
    if not but["variables"]:
        _variables(session).clear()


def _variables(session: SparkSession) -> Any:
    return session._jsparkSession.sessionState().catalogManager().tempVariableManager()


def _is_of_sql(catalog: Any, function: Any) -> bool:
    """Those that were registered in Python may be registered again: `spark.udf.register` replaces them."""
    return str(catalog.lookupFunctionInfo(function).getSource()) not in _REGISTERED
