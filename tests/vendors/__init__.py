"""What the claims of a profile list, in which order, and what of it an operator decides.

Pure; what a scheduler makes of it is asked in `tests/cluster/vendors`.
"""
