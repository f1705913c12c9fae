"""The queries as jobs of Tandem, in ordinary PySpark. This package is imported from beside the manifests, as `queries`."""
