"""Values and keys whose schemas are in a registry: which schema, and what Spark gets of bytes, and bytes of rows."""
