"""The real llmfit binary, from the PyPI package: what it prints today is what this project takes."""
