"""The webhook as a process: Flask for the calls, gunicorn for the workers, gevent for the connections, TLS.

The only importer of flask, gunicorn and gevent. It has no Kubernetes client and no credentials: whoever reaches the
port can make it do nothing. Nothing is decided here; `app` asks the core.

`process` starts gunicorn, `worker` is one worker process, `connection` one peer, `tls` the certificate, `app` the
calls, `limits` what a peer may cost.
"""
