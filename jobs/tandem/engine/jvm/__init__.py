"""Tandem's own Java classes, which live in the driver's JVM, and the jar that they are compiled into."""
