"""Certificates of a webhook server: issued, verified, rotated without a gap.

Contents: X.509, and the decision what happens to a certificate next. All functions take the time as a parameter.
Not here: Kubernetes, HTTP, files, logging, threads, the clock. Only `webhook.dns_names` is imported from `webhook`.

    hostnames ─► issuing ◄─ pem            issue a CA or a server certificate
                 verification              is a certificate trusted, and if not, why
    secret_data                            the state of a rotation as the data of a Secret
    rotation_config ─► rotation            next_step(data, names, now, config) -> Step
                       description         the state as text
"""
