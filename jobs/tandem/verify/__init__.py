"""Is the output right? Reads a job's logs and outputs, and reports what is lost, duplicated or reordered.

===========  =================================================================================
`check`      decides: plain records in, a `Report` out; keeps only the epochs under way
`inputs`     decides: do the epochs' ranges cover the inputs, each record once
`numbers`    sets of numbers that cost little
`report`     the anomalies, named as in Jepsen's Kafka workload, and the report
`lead`       decides: which partitions to pause, so that none is read far ahead of the others
`read`       talks: reads the topics to their ends, once or until nothing is pending
`show`       the report for people, and as JSON
===========  =================================================================================
"""
