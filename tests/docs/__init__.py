"""The generated documentation is current."""
