"""The admission webhook as an HTTPS server: gunicorn runs the workers, gevent the connections, Flask the probes.

Only this package imports flask, gunicorn and gevent. It has no Kubernetes client and no credentials, so a peer that
reaches the port gains no access to the cluster. Decisions are made in `webhook.core`.

A request passes through `gunicorn_server` (parent process), `worker` (worker process), `connection` (TLS and HTTP),
`wsgi` (request and response), `app` (routes) and `admission_handler` (review to response). `serving_certificate`
reloads the certificate, `body_reader` bounds memory, `limits` holds the time limits.
"""
