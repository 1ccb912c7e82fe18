"""The layout holds: contracts that can fail, a core without side doors, one place for the strings."""
