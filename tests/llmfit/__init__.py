"""Output of the real llmfit binary, from the PyPI package, is accepted."""
