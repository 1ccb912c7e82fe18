"""`modelfit serve` as a process, with clients over TLS on loopback."""
