"""The real-time engine: whole epochs through a query of Spark that keeps its tasks running.

`query` has its methods, `feed` what the query shares with the JVM, `channel` the socket between both.
"""
