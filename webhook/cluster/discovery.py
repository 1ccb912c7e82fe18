"""Discovery of the resource.k8s.io version to use, repeated when it may have changed."""

import threading

from webhook.cluster.api import Api, path
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.core.claims import api_versions
from webhook.dns_names import is_label
from webhook.json_tree import get_list, get_text

GROUP = "resource.k8s.io"


class ResourceApi:
    """The preferred one of the served versions; None before the first `refresh`, and if no supported one is served."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._lock = threading.Lock()
        self._served: tuple[str, ...] | None = None

    @property
    def version(self) -> str | None:
        served = self._served or ()
        return next((version for version in api_versions.SERVED_VERSIONS if version in served), None)

    @property
    def problem(self) -> str:
        """Why there is no version; empty if there is one."""
        if self.version:
            return ""
        if self._served is None:
            return f"the versions of {GROUP} that the API server serves are not known yet"
        return (
            f"the API server serves {', '.join(self._served) or 'no version'} of {GROUP}; want one of "
            f"{', '.join(api_versions.SERVED_VERSIONS)}: Kubernetes 1.34 or newer, or 1.32 with dynamic resource"
            " allocation enabled"
        )

    def refresh(self) -> bool:
        """Asks the API server again; returns whether the version changed. Raises ApiError, and keeps the version."""
        with self._lock:
            before = self.version
            try:
                document = self._api.call("GET", f"/apis/{GROUP}")
            except ApiError as error:
                if error.reason is not ErrorReason.NOT_FOUND:
                    raise
                document = {"versions": []}
            if not isinstance(document.get("versions"), list):
                raise ApiError(ErrorReason.UNEXPECTED, f"GET /apis/{GROUP}: not an API group")
            versions = (get_text(item, "version") or "" for item in get_list(document, "versions"))
            # They appear in messages.
            self._served = tuple(version for version in versions if is_label(version))
            return self.version != before

    def path(self, plural: str, namespace: str | None = None, *rest: str) -> str:
        """The URL path in the current version; without one, in the preferred version, which then answers 404."""
        return path(f"{GROUP}/{self.version or api_versions.SERVED_VERSIONS[0]}", plural, namespace, *rest)
