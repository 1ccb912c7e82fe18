"""The fuzzer: searches for an input that breaks the webhook. `python -m tests.fuzz` runs FUZZ_SECONDS seconds (180).

`corpus` holds the reviews that `damage` changes at random; `oracle` checks each response. A run prints its seed, and
FUZZ_SEED repeats it. An input that fails is written to a file; `python -m tests.fuzz FILE` checks it again.
"""
