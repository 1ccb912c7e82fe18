"""Certificates: minted, verified, rotated through an hour of simulated time, kept in stores that fail."""
