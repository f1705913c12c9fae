"""All of ZooKeeper: the session, who leads, who holds a slot, who stands by, and who is to hand over."""
