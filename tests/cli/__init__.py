"""The command line: output, messages and exit codes. Most tests run it in this process."""
