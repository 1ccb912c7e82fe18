"""Logs and metrics. They never contain the content of a pod."""
