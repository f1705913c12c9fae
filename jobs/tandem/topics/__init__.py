"""The topics of a job: which there are, how they must be, and who looks after them while the job runs."""
