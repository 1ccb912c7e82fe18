"""Tests of the source code: import contracts, builtins in the core, names of loggers, literal keys."""
