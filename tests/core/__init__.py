"""The core, from ModelFit JSON to the answer. No files but golden ones, no processes, no network."""
