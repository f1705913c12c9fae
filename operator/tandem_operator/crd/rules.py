"""Every rule of the CRD: what the runtime's models and rules check, said in CEL, and what may not change.

What CEL cannot say (a schema's DDL, a variable that nobody replaces, amounts that are numbers or texts) the operator checks
with the runtime's own models, and reports in a condition.
"""

from __future__ import annotations

from typing import Final

from tandem_operator.crd.cel import Rule
from tandem_operator.crd.rules_changes import CHANGES
from tandem_operator.crd.rules_formats import FORMATS
from tandem_operator.crd.rules_job import JOB
from tandem_operator.crd.rules_kafka import KAFKA
from tandem_operator.crd.rules_lanes import LANES
from tandem_operator.crd.rules_sinks import SINKS
from tandem_operator.crd.rules_spark import SPARK
from tandem_operator.crd.rules_streams import STREAMS
from tandem_operator.crd.rules_tables import TABLES
from tandem_operator.crd.rules_values import VALUES

RULES: Final[tuple[Rule, ...]] = (
    *JOB,
    *STREAMS,
    *FORMATS,
    *TABLES,
    *LANES,
    *SINKS,
    *KAFKA,
    *SPARK,
    *VALUES,
    *CHANGES,
)
