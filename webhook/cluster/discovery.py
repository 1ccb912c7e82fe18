"""Which version of resource.k8s.io the API server serves, found again when it changes under us."""

import threading

from webhook.cluster.api import Api, path
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.core.claims import api_versions

GROUP = "resource.k8s.io"


class ResourceApi:
    """The version to speak, the preferred one of those that are served; None before the first look, and where none of
    them is."""

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
        """Why there is no version, in words; empty where there is one."""
        if self.version:
            return ""
        if self._served is None:
            return f"not known yet which versions of {GROUP} the API server serves"
        return (
            f"the API server serves {', '.join(self._served) or 'no version'} of {GROUP}; want one of "
            f"{', '.join(api_versions.SERVED_VERSIONS)}: Kubernetes 1.34 or newer, or 1.32 with dynamic resource"
            " allocation switched on"
        )

    def refresh(self) -> bool:
        """Looks again; whether the version is another one now. An API server that does not answer changes nothing.
        Raises Failure."""
        with self._lock:
            before = self.version
            try:
                document = self._api.call("GET", f"/apis/{GROUP}")
            except ApiError as failure:
                if failure.reason is not ErrorReason.NOT_FOUND:
                    raise
                document = {}
            listed = document.get("versions")
            self._served = tuple(str(item.get("version")) for item in (listed if isinstance(listed, list) else []))
            return self.version != before

    def path(self, plural: str, namespace: str | None = None, *rest: str) -> str:
        """The URL path in the version spoken now; while there is none, that of the preferred one, which answers 404."""
        return path(f"{GROUP}/{self.version or api_versions.SERVED_VERSIONS[0]}", plural, namespace, *rest)
