"""Thin adapters over confluent-kafka. They talk; `tandem.protocol` decides."""
