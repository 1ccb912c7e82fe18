"""The command line: what it prints, where, and with which exit code. In process, but for what only a process shows."""
