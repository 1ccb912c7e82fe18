"""The caBundles of both webhook configurations during one look: read once, then brought in line."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from certs import pem
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.cluster.webhook_configurations import Trust, WebhookConfiguration

Told = Callable[[WebhookConfiguration, Sequence[str], bytes], None]
"""Hears of each configuration that was written: the names of its webhooks that had another bundle, and the new one."""


@dataclass
class _View:
    """One configuration. Without `trust` it does not exist, or, with a `failure`, cannot be read."""

    configuration: WebhookConfiguration
    trust: Trust | None
    failure: ApiError | None = None


class Bundles:
    """Reads the configurations. Raises Failure, but not for a missing permission: the other one is still looked after.
    That, and what fails later, is in `failures`."""

    def __init__(self, configurations: Iterable[WebhookConfiguration], told: Told) -> None:
        self._told = told
        self._views = [_view(configuration) for configuration in configurations]

    @property
    def failures(self) -> list[ApiError]:
        return [view.failure for view in self._views if view.failure]

    @property
    def missing(self) -> list[str]:
        """The configurations that do not exist, or have no webhook of ours: by them the API server asks nobody."""
        return [
            str(view.configuration)
            for view in self._views
            if view.failure is None and not (view.trust and view.trust.bundles)
        ]

    @property
    def held(self) -> Mapping[str, bytes]:
        """The bundle of each webhook of ours, by its configuration and name."""
        return {
            f"{view.configuration}, {name}": bundle
            for view in self._views
            if view.trust
            for name, bundle in view.trust.bundles.items()
        }

    @property
    def evidence(self) -> list[bytes]:
        """The same for `certs.evidence`: a configuration that cannot be read is not known to trust anybody, which holds
        a rotation back; leaves are renewed."""
        return [*self.held.values(), *(b"" for view in self._views if view.trust is None and view.failure)]

    def with_bundle(self, bundle: bytes) -> list[WebhookConfiguration]:
        """Those configurations in which every webhook of ours has it."""
        return [view.configuration for view in self._views if view.trust and not view.trust.without(bundle)]

    def announce(self, bundle: bytes) -> None:
        """Publishes `bundle` before it becomes the Secret's, where that only adds to what is trusted: so no leaf is
        mounted before its authority is known, not even when everything has to be made anew. Where nobody is trusted
        yet nothing is announced: there is nobody to disappoint, and of several who begin only one will have its way.
        Raises Failure where it is worth trying again at once."""
        before = {each for held in self.held.values() for each in pem.certificates(held)[0]}
        if not before or not before <= set(pem.certificates(bundle)[0]):
            return
        self.publish(bundle)
        for failure in self.failures:
            if failure.is_transient:
                raise failure

    def publish(self, bundle: bytes) -> None:
        """Publishes `bundle` wherever another one is. What cannot be written keeps nobody from the rest."""
        for view in self._views:
            if view.trust is None or view.failure is not None:
                continue
            stale = view.trust.without(bundle)
            if not stale:
                continue
            try:
                view.trust = view.configuration.publish(view.trust, bundle)
            except ApiError as failure:
                view.failure = failure
            else:
                self._told(view.configuration, stale, bundle)


def _view(configuration: WebhookConfiguration) -> _View:
    try:
        return _View(configuration, configuration.read())
    except ApiError as failure:
        if failure.reason is ErrorReason.FORBIDDEN:
            return _View(configuration, None, failure)
        raise
