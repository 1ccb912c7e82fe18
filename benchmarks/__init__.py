"""Benchmarks. They compare servers side by side and report ratios, which depend less on the machine than rates."""
