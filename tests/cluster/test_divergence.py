"""A change with which a replica computes other rows: it publishes none of them, and the change is gone back from."""

from __future__ import annotations

import pytest

from cluster.jobs import ClusterJob, running_job
from cluster.kubernetes import Kubectl
from integration.workload import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.thorough]

MASKED_S = 5.0
ASKS_WHEN_IT_COMPUTES = """
import os
from pyspark.sql import functions as F

@F.udf("string")
def more(value):
    return value + os.environ.get("MORE", "")

def job(events):
    copies = events.select("key", more(F.col("value").cast("string")).alias("value"))
    counts = events.groupBy("key").count().select("key", F.col("count").cast("string").alias("value"))
    return {"copies": copies, "counts": counts}
"""
"""The same code and plan in every pod, and other rows in one that has the variable."""
ASKS_WHEN_IT_PLANS = """
import os
from pyspark.sql import functions as F

def job(events):
    more = F.lit(os.environ.get("MORE", ""))
    copies = events.select("key", F.concat("value", more).alias("value"))
    counts = events.groupBy("key").count().select("key", F.col("count").cast("string").alias("value"))
    return {"copies": copies, "counts": counts}
"""
"""The same code in every pod, and another plan in one that has the variable."""
OTHERWISE = {"spec": {"containers": [{"name": "replica", "env": [{"name": "MORE", "value": "0"}]}]}}


def rolled_back(job: ClusterJob) -> str:
    """Change the pods of a job that works, and wait until it has gone back; what it says about that. The output goes on."""
    job.when_known_to_work()
    good = job.made_from()
    with job.output_goes_on(MASKED_S):
        job.patch({"podTemplate": OTHERWISE})
        said = job.when_rolled_back(good)
        job.flows_on(400)
    return said


def test_it_is_reported_and_rolled_back_and_the_reader_sees_none_of_it(
    servers: Cluster,
    kubectl: Kubectl,
    tandem: str,  # noqa: ARG001, it must be installed
) -> None:
    with running_job(kubectl, servers, "skewed", code=ASKS_WHEN_IT_COMPUTES) as job:
        said = rolled_back(job)
        assert "computed other rows" in said
        assert {"Diverged", "NoLongerDiverged"} <= job.told()
        job.when_ready()
        status, reason, _ = job.condition("Diverged")
        assert (status, reason) == ("False", "Equal")


def test_one_that_would_plan_something_else_computes_nothing_and_is_rolled_back(
    servers: Cluster,
    kubectl: Kubectl,
    tandem: str,  # noqa: ARG001, it must be installed
) -> None:
    with running_job(kubectl, servers, "otherwise", code=ASKS_WHEN_IT_PLANS) as job:
        said = rolled_back(job)
        assert "plan is not the one that the job began with" in said
        assert "takes it from its surroundings" in said
        assert "Diverged" not in job.told()
        job.when_ready()
