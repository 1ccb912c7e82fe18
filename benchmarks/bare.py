"""Bare Flask answering a constant, under the webhook's own gunicorn settings: what it is measured against.

`python -m benchmarks.bare PORT CERT KEY WORKERS [STOCK]`; with STOCK the worker is gunicorn's own gevent worker.
"""

import sys
from pathlib import Path

from flask import Flask, Response

from webhook.observe import logs
from webhook.server.gunicorn_server import Server, listen
from webhook.settings import Settings

CONSTANT = b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"","allowed":true}}'


class Bare(Server):
    """The webhook's server, with another application in it."""

    stock = False

    def load_config(self) -> None:
        """The webhook's settings."""
        super().load_config()
        if self.stock:
            self.cfg.set("worker_class", "gevent")
            self.cfg.set("certfile", str(self.files[0]))
            self.cfg.set("keyfile", str(self.files[1]))

    def load(self) -> Flask:
        """The constant."""
        app = Flask("bare")
        app.add_url_rule("/mutate", "mutate", lambda: Response(CONSTANT, mimetype="application/json"), methods=["POST"])
        return app


def main() -> None:
    """Serves until SIGTERM."""
    port, certificate, key, workers, *stock = sys.argv[1:]
    settings = Settings.model_validate({"drainSeconds": 0})
    logs.configure("error")
    Bare.files = (Path(certificate), Path(key))
    Bare.stock = bool(stock)
    Bare(settings, int(workers), listen("127.0.0.1", int(port)), Bare.files).run()


if __name__ == "__main__":
    main()
