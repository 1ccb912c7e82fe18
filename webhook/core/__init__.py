"""The decision, as values. Pure: what is decided here depends on the arguments alone.

Belongs here: reading a review, a pod and a fit; quantities; selectors; claims; the patch; the rules.
Never here: files, sockets, time, randomness, logging, environment, flask, kubernetes.

The reader follows the data: review → pod → fit → need → claim → patch → answer; `decide` is the table of contents.
"""
