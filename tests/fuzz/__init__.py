"""Looks for an input that breaks the webhook: `python -m tests.fuzz`, for FUZZ_SECONDS seconds (180).

`corpus` holds what is damaged, `damage` does it, `oracle` says what must hold of every answer. A run prints its seed;
FUZZ_SEED repeats it. An input that breaks something is written to a file; `python -m tests.fuzz FILE` shows it again.
"""
