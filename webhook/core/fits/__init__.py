"""From llmfit's JSON to ModelRequirements, the only value that later steps use.

Belongs here: strict JSON, the shapes that llmfit prints, their precedence, quantities.
Never here: devices, drivers, claims, pods.
"""
