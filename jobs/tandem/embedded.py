"""The name that `tandem.devservers` had; scripts outside of this repository use it."""

from tandem.devservers import KafkaBroker, ZooKeeperServer

__all__ = ["KafkaBroker", "ZooKeeperServer"]
