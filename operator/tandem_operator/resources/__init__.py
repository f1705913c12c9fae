"""Which objects a job has in Kubernetes: pure functions from the job to plain mappings, a module for each kind."""

from tandem_operator.resources.objects import wanted_objects
from tandem_operator.resources.settings import Settings

__all__ = ["Settings", "wanted_objects"]
