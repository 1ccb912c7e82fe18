"""The baseline of the webhook benchmark: a Flask application that returns a constant, with the webhook's gunicorn
settings.

`python -m benchmarks.bare PORT CERT KEY WORKERS [STOCK]`. With STOCK it runs in gunicorn's own gevent worker.
"""

import sys
from pathlib import Path

from flask import Flask, Response

from webhook.observe import logs
from webhook.server.gunicorn_server import CertificateFiles, Server, listen
from webhook.settings import Settings

CONSTANT = b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"","allowed":true}}'


class BareServer(Server):
    """The webhook's server with another application."""

    certificate_files: CertificateFiles
    use_stock_worker = False

    def load_config(self) -> None:
        """The webhook's gunicorn settings."""
        super().load_config()
        if self.use_stock_worker:
            self.cfg.set("worker_class", "gevent")
            self.cfg.set("certfile", str(self.certificate_files.certificate))
            self.cfg.set("keyfile", str(self.certificate_files.key))

    def load(self) -> Flask:
        """The application."""
        app = Flask("bare")
        app.add_url_rule("/mutate", "mutate", lambda: Response(CONSTANT, mimetype="application/json"), methods=["POST"])
        return app


def main() -> None:
    """Serves until SIGTERM."""
    port, certificate, key, workers, *stock = sys.argv[1:]
    settings = Settings.model_validate({"drainSeconds": 0})
    logs.configure("error")
    # Class attributes, because the base class's constructor loads the configuration.
    BareServer.certificate_files = CertificateFiles(Path(certificate), Path(key))
    BareServer.use_stock_worker = bool(stock)
    BareServer(settings, int(workers), listen("127.0.0.1", int(port)), BareServer.certificate_files).run()


if __name__ == "__main__":
    main()
