"""Examples are the same in every run, and no clock decides whether a test passes."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "tandem",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tandem")
