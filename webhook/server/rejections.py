"""HTTP errors: responses to requests that are not admission reviews. All of them are counted, few are logged."""

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from webhook.errors import MAX_QUOTED, quote
from webhook.observe import admission_metrics
from webhook.observe.log_throttle import LogThrottle

JSON = "application/json"

_log = logging.getLogger("modelfit.admission")
_throttle = LogThrottle()


class HttpResponse(NamedTuple):
    """An HTTP response with a JSON body."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = (("Content-Type", JSON),)


def reject(
    environ: Mapping[str, Any], status: int, message: str, uid: str = "", log_message: str | None = None
) -> HttpResponse:
    """Counts and logs a rejected request, and returns `{"error": message}` with the review's `uid` if it is known.

    A misconfigured client repeats its request endlessly, so the log has at most one line a minute for each status.
    `log_message` replaces a `message` that may quote the object.
    """
    admission_metrics.count_rejected_request(status)
    count = _throttle.allow(status)
    if count:
        fields = {
            "status": status,
            "error": message if log_message is None else log_message,
            "method": environ["REQUEST_METHOD"][:MAX_QUOTED],
            "path": environ["PATH_INFO"][:MAX_QUOTED],
            "peer": environ.get("REMOTE_ADDR", ""),
            "count": count,
        }
        _log.warning("request rejected", extra={"fields": fields})
    return HttpResponse(status, orjson.dumps({"error": message} | ({"uid": uid} if uid else {})))


def reject_method(environ: Mapping[str, Any], allowed: str) -> HttpResponse:
    """405, with the `allowed` methods in the message and in the Allow header."""
    method, path = quote(environ["REQUEST_METHOD"]), quote(environ["PATH_INFO"])
    response = reject(environ, 405, f"method: {method} for {path}; want {allowed}")
    return response._replace(headers=(*response.headers, ("Allow", allowed)))
