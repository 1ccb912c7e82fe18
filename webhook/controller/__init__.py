"""The controller: creates the claim that each injected pod waits for, and nothing else.

It watches pods that the webhook has injected, and the claims it made; for a live pod whose claim is missing it creates
the claim that the core computes, owned by the pod. It never changes or deletes a claim: Kubernetes removes what a pod
owns. It is level-triggered: whatever it missed while it was down, it sees when it starts.

Belongs here: what is to be done about a pod (`plan`, pure), and doing it (`keeper` and the loops around it). Never
here: knowledge of the client or of HTTP (`webhook.cluster`), and how a claim looks (`webhook.core`).
"""
