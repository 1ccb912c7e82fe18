"""Who looks after the certificate, on a clock of the test's, and a cluster that fails when it is told to."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from certs.policy import Policy
from tests.controller.objects import Objects
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.controller.certificates import Certificates

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOST = "modelfit.modelfit.svc"
SECOND = timedelta(seconds=1)


class Clock:
    now = NOON

    def __call__(self) -> datetime:
        return self.now


def keeper(objects: Objects, clock: Clock, policy: Policy | None = None) -> Certificates:
    store, configurations = objects.store(), objects.configurations()
    return Certificates("modelfit/tls", store, configurations, [HOST], policy or Policy(), clock)


def failing(
    kind: ErrorReason, *, method: str = "", path: str = "", retry_after: str = ""
) -> Callable[[str, str], None]:
    """Calls of that method to that path fail."""

    def fail(called: str, where: str) -> None:
        if method in ("", called) and where.startswith(path):
            raise ApiError(kind, "no", headers={"Retry-After": retry_after} if retry_after else None)

    return fail


def in_place(objects: Objects) -> bool:
    data = objects.data()
    return set(objects.bundles().values()) == {data["ca.crt"]} and len(objects.bundles()) == 3
