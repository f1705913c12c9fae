"""`kubectl tandem` as a krew plugin: an archive for each platform, and the manifest that names them."""
