"""Grafana's dashboards, as code; the chart ships the JSON that `python -m dashboards` writes."""
