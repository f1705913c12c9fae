"""The engine: runs a user's PySpark job, one epoch after the other, and hands out each epoch's rows.

`interface` is all that the rest of Tandem knows of it; everything below is Spark's micro-batch engine.
"""
