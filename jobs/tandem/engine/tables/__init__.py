"""Tables that a job reads from topics: in each epoch the latest row of every key, as the epoch's cut has it.

`content` folds records into rows, `parsing` makes rows of records, `versions` keeps them in the checkpoint, and `query` puts
them before an epoch's plan.
"""
