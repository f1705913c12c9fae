"""The replica process: an engine that computes epochs, and a publisher that claims, publishes or takes over."""
