"""The documentation says what the code does. `python -m tests.docs` writes the generated pages again."""
