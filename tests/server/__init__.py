"""The calls, without a network: every status, the uid, what malformed input gets."""
