"""The real process, spoken to over TLS on loopback."""
