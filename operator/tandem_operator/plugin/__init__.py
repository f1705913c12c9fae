"""`kubectl tandem`: looks at jobs and asks for what a spec cannot say. Everything goes through the API server."""
