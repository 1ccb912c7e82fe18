"""The controller: creates the ResourceClaims of injected pods and, if configured, maintains the webhook's certificate.

It watches injected pods and their claims. If a live pod has no claim, it creates the claim that the core computes,
owned by the pod. It never changes or deletes a claim; Kubernetes garbage-collects the claims of deleted pods. It is
level-triggered: after a restart it reconciles every pod.

Belongs here: what to do about a pod (`claim_actions`, pure), and doing it (`pod_reconciler`, and the loops in
`manager`). Never here: the Kubernetes client and HTTP (`webhook.cluster`), and the content of a claim (`webhook.core`).
"""
