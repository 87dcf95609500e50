# No resources.
