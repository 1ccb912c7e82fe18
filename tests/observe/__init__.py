"""Logs and their throttle."""
