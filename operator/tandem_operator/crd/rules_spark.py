"""Rules about settings of Spark that would make replicas differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tandem.manifest.spark_settings import FIXED, OWNED
from tandem_operator.crd.cel import Rule, path, text, texts
from tandem_operator.crd.rules_kafka import forbidden, grouped

_CONF: Final = (path("spec.spark.conf"),)
_MIRRORED: Final = ("spark_settings_keep_replicas_equal",)


def _fixed() -> Iterator[Rule]:
    for names, values, reason in grouped(FIXED):
        lower = texts(value.lower() for value in values)
        is_so = (f"(!({text(name)} in self) || self[{text(name)}].trim().lowerAscii() in {lower})" for name in names)
        message = f"{', '.join(names)} must be {' or '.join(values)}: {reason}. Remove it"
        yield Rule(f"spark-fixed-{names[0].replace('.', '-')}", _CONF, " && ".join(is_so), message, mirrors=_MIRRORED)


SPARK: Final[tuple[Rule, ...]] = (
    Rule(
        "spark-setting-has-its-prefix",
        _CONF,
        "self.all(name, name.startsWith('spark.'))",
        "there is a key that is no setting of Spark. Settings begin with spark., e.g. spark.sql.session.timeZone",
        mirrors=_MIRRORED,
    ),
    *(
        forbidden("spark-owned", _CONF, names, f"Tandem sets {', '.join(names)} itself: {reason}. {remedy}")
        for names, reason, remedy in grouped(OWNED)
    ),
    *_fixed(),
)
