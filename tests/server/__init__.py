"""The server without a network."""
