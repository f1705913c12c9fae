"""The CustomResourceDefinition, made from the models that the runtime reads too, and its reference page."""
