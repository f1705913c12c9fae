"""Mistakes in what is replicated: name, replicas, delivery, code."""

from __future__ import annotations

from unit.manifest.mistakes.mark import HERE, Mistake

JOB: dict[str, Mistake] = {
    "replicas of zero": ("  replicas: 2", f"  replicas: 0 {HERE}", "spec.replicas", "0 is too small. The least is 1"),
    "replicas as text": ("  replicas: 2", f"  replicas: '2' {HERE}", "spec.replicas", "Remove the quotes: 2"),
    "replicas as a truth value": (
        "  replicas: 2", f"  replicas: true {HERE}", "spec.replicas", "the truth value true",
    ),
    "half a replica": ("  replicas: 2", f"  replicas: 1.5 {HERE}", "spec.replicas", "not the number 1.5"),
    "replicas without a value": ("  replicas: 2", f"  replicas: {HERE}", "spec.replicas", "has no value"),
    "negative standbys": ("  replicas: 2", f"  standbys: -1 {HERE}", "spec.standbys", "The least is 0"),
    "an upper-case name": ("  name: flights\nspec", f"  name: Flights {HERE}\nspec", "metadata.name", "DNS-1123"),
    "a name too long for a pod": (
        "  name: flights\nspec", f"  name: {'f' * 45} {HERE}\nspec", "metadata.name", "45 characters. Use at most 44",
    ),
    "a number as a name": ("  name: flights\nspec", f"  name: 7 {HERE}\nspec", "metadata.name", 'quotes: "7"'),
    "a number of base 16 as a name": (
        "  name: flights\nspec", f"  name: 0x1f {HERE}\nspec", "metadata.name", 'quotes: "0x1f"',
    ),
    "a number with an exponent as a name": (
        "  name: flights\nspec", f"  name: 1e3 {HERE}\nspec", "metadata.name", 'quotes: "1e3"',
    ),
    "no name": (
        "  name: flights\nspec", "  labels: {}\nspec", "metadata.name", "is missing. Add it, e.g. name: flights",
    ),
    "an impossible label": (
        "metadata:\n", f"metadata:\n  labels:\n    team: a b {HERE}\n", "metadata.labels.team", "Kubernetes label",
    ),
    "a misspelt delivery": (
        "  delivery: exactlyOnce", f"  delivery: exactly-once {HERE}", "spec.delivery", "Did you mean exactlyOnce?",
    ),
    "an unknown delivery": (
        "  delivery: exactlyOnce", f"  delivery: twice {HERE}",
        "spec.delivery", "exactlyOnce or atLeastOnce or atMostOnce",
    ),
    "a misspelt engine": (
        "  takeOver: {}", f"  engine: realtime {HERE}", "spec.engine", "Did you mean realTime?",
    ),
    "executors with the real-time engine": (
        "  takeOver: {}", f"  engine: realTime\n  executors:\n    instances: 2 {HERE}",
        "spec.executors.instances", "no use for executors. Remove executors, or set spec.engine: microBatch",
    ),
    "several partitions with the real-time engine": (
        "  spark: {}", f"  engine: realTime\n  spark:\n    parallelism: 2 {HERE}",
        "spec.spark.parallelism", "in one partition, not in 2. Remove parallelism, or set spec.engine: microBatch",
    ),
    "a misspelt key": (
        "  delivery:", f"  delivry: atLeastOnce {HERE}\n  delivery:", "spec.delivry", "Did you mean delivery?",
    ),
    "a key in snake_case": (
        "  takeOver: {}", f"  take_over: {{}} {HERE}", "spec.take_over", "Did you mean takeOver?",
    ),
    "a key in the wrong place": (
        "  takeOver: {}", f"  maxRecordsPerEpoch: 5 {HERE}", "spec.maxRecordsPerEpoch", "It belongs to spec.ordering",
    ),
    "a key of nobody": (
        "  spark: {}", f"  spark:\n    colour: red {HERE}", "spec.spark.colour", "knows conf, parallelism",
    ),
    "no code": ("    file: job.py\n", "", "spec.job", "file is missing"),
    "file and module": (
        "    file: job.py\n", f"    file: job.py\n    module: a.b {HERE}\n", "spec.job.module", "Keep one of them",
    ),
    "a file that is no Python": ("file: job.py", f"file: job.jar {HERE}", "spec.job.file", "ends in .py"),
    "a file by URI": ("file: job.py", f"file: s3://jobs/job.py {HERE}", "spec.job.file", "relative to the manifest"),
    "a path as a module": ("file: job.py", f"module: jobs/job {HERE}", "spec.job.module", "Write package.module"),
    "a function that cannot be one": (
        "function: flights", f"function: my-flights {HERE}", "spec.job.function", "no Python identifier",
    ),
    "an output mode that no log of epochs can keep": (
        "function: flights", f"outputMode: complete {HERE}", "spec.job.outputMode", "append or update",
    ),
    "an option that is a number": (
        "function: flights", f"options:\n      limit: 5 {HERE}", "spec.job.options.limit", 'Put it in quotes: "5"',
    ),
    "an option that is a truth value": (
        "function: flights", f"options: {{big: True}} {HERE}", "spec.job.options.big", 'quotes: "True"',
    ),
    "an option that is a date": (
        "function: flights", f"options:\n      day: 2013-01-01 {HERE}", "spec.job.options.day", 'quotes: "2013-01-01"',
    ),
}  # fmt: skip
