"""Reconciles the webhook's certificate: the Secret that it is served from, and the caBundles that trust it.

`certs.rotation` decides the next step. Reads are frequent and cheap, and replace a watch: drift is repaired at the next
resync. Several controllers may run at the same time: the Secret and the configurations are only written at the resource
version that was read.
"""

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from certs import hostnames, pem, rotation, secret_data, verification
from certs.exceptions import InvalidNames, InvalidRotationConfig
from certs.rotation import Action
from certs.rotation_config import RotationConfig
from certs.secret_data import State
from webhook.backoff import Backoff
from webhook.cluster.api import Api
from webhook.cluster.api_errors import ApiError, ErrorReason
from webhook.cluster.secret_store import SecretStore
from webhook.cluster.webhook_configurations import CABundles, WebhookConfiguration
from webhook.controller import controller_metrics
from webhook.errors import FieldError, InvalidSettings, quote
from webhook.settings import CertificatesSettings

RESYNC_SECONDS = 2.0
BACKOFF = Backoff(first=0.5, maximum=30.0)

_log = logging.getLogger("modelfit.certificates")


def now() -> datetime:
    return datetime.now(UTC)


@dataclass
class _Configurations:
    """The caBundles of the configurations during one reconcile."""

    bundles: dict[WebhookConfiguration, CABundles] = field(default_factory=dict)
    """Configurations that exist and have a webhook of modelfit."""
    errors: dict[WebhookConfiguration, ApiError] = field(default_factory=dict)
    """Configurations that could not be read or written."""

    def by_webhook(self) -> Mapping[str, bytes]:
        return {
            f"{configuration}, {name}": bundle
            for configuration, current in self.bundles.items()
            for name, bundle in current.by_webhook.items()
        }


@dataclass
class CertificateReconciler:
    """`run` reconciles until it is stopped; other threads call `wake`, `problem` and `note`."""

    store: SecretStore
    configurations: Sequence[WebhookConfiguration]
    names: Collection[str]
    """Host names on the leaf."""
    config: RotationConfig
    clock: Callable[[], datetime] = now
    _wake: threading.Event = field(default_factory=threading.Event)
    _observed: tuple[Mapping[str, bytes], Mapping[str, bytes]] | None = None
    """The data of the Secret and the caBundles after the last reconcile."""
    _missing: Sequence[str] = ()
    _error: ApiError | None = None
    _failures: int = 0
    _last_published: dict[WebhookConfiguration, bytes] = field(default_factory=dict)

    @classmethod
    def from_settings(cls, settings: CertificatesSettings, api: Api) -> "CertificateReconciler":
        """Raises InvalidSettings for a name or lifetimes that a certificate cannot have."""
        # The name by which the API server calls a webhook whose configuration refers to a Service.
        host = f"{settings.service}.{settings.namespace}.svc"
        try:
            hostnames.general_names([host])
            config = RotationConfig(
                timedelta(days=settings.ca_lifetime_days),
                timedelta(days=settings.leaf_lifetime_days),
                timedelta(minutes=settings.propagation_minutes),
            )
        except InvalidNames:
            expected = "a Service and a namespace of DNS labels"
            raise InvalidSettings([FieldError("certificates", quote(host), expected)]) from None
        except InvalidRotationConfig as error:
            parts = [fault.partition("; want ") for fault in error.faults]
            raise InvalidSettings(FieldError("certificates", value, want) for value, _, want in parts) from None
        mutating, validating = settings.mutating_webhook_configuration, settings.validating_webhook_configuration
        configurations = [WebhookConfiguration(api, "mutating", mutating)] if mutating else []
        configurations += [WebhookConfiguration(api, "validating", validating)] if validating else []
        return cls(SecretStore(api, settings.namespace, settings.secret), configurations, [host], config)

    @property
    def secret(self) -> str:
        """The Secret's `namespace/name`, for logs and metrics."""
        return f"{self.store.namespace}/{self.store.name}"

    def run(self, stop: threading.Event, leading: Callable[[], bool]) -> None:
        """Reconciles until `stop` is set and `wake` called. Non-leaders observe but do not write."""
        controller_metrics.set_certificate_success(self.secret, self.clock())
        while not stop.is_set():
            self._wake.clear()
            self._wake.wait(self.reconcile(act=leading()))

    def wake(self) -> None:
        """Makes the next reconcile start at once."""
        self._wake.set()

    def problem(self) -> str:
        """Why the API server would not trust the webhook, or why this cannot be repaired; empty if there is no problem.
        As of the last reconcile, at the current time."""
        what = "the webhook's certificate"
        # Read once each: the reconciler's thread replaces them.
        error, observed = self._error, self._observed
        if error is not None and not error.is_transient:
            return f"{what}: {error}"
        if observed is None:
            return f"{what}: not reconciled yet"
        data, bundles = observed
        at = self.clock()
        chain, key = data.get(secret_data.LEAF, b""), data.get(secret_data.LEAF_KEY, b"")
        clients = {what: data.get(secret_data.BUNDLE, b"")} | {
            f"{what}: {name}": each for name, each in bundles.items()
        }
        for client, bundle in clients.items():
            if problems := verification.find_problems(bundle, chain, key, self.names, at):
                return f"{client}: {problems[0]}"
        return ""

    def note(self) -> str:
        """The webhook configurations that were missing at the last reconcile. This does not make the certificate
        unready: an installation creates them last, after the controller is ready."""
        return f"ready, but missing or without a webhook: {', '.join(self._missing)}" if self._missing else ""

    def reconcile(self, *, act: bool) -> float:
        """Reconciles once; writes only with `act`. Logs errors and raises none. Returns the seconds until the next."""
        min_delay = 0.0
        try:
            self._reconcile(act)
        except ApiError as error:
            controller_metrics.count_api_failure(error.reason)
            self._error, min_delay = error, error.retry_after or 0.0
            level = logging.INFO if error.reason is ErrorReason.CONFLICT else logging.WARNING
            fields = {"secret": self.secret, "reason": error.reason, "error": str(error)}
            _log.log(level, "certificate reconcile failed, retrying", extra={"fields": fields})
        except Exception:
            _log.exception("certificate reconcile failed, retrying", extra={"fields": {"secret": self.secret}})
        else:
            self._error, self._failures = None, 0
            if act:
                controller_metrics.set_certificate_success(self.secret, self.clock())
            return RESYNC_SECONDS
        self._failures += 1
        return max(BACKOFF.delay(self._failures), min_delay)

    def _reconcile(self, act: bool) -> None:
        # Read the webhook configurations before the Secret: they are then never newer than the plan.
        configurations = self._read_configurations()
        stored = self.store.read()
        data = stored.data if stored else {}
        if not act:
            state, _ = secret_data.parse(data)
        else:
            # Plan. An unreadable configuration counts as an empty caBundle: it holds a CA rotation back.
            bundles = [*configurations.by_webhook().values(), *(b"" for _ in configurations.errors)]
            step = rotation.next_step(data, self.names, self.clock(), self.config, bundles)
            state = step.state
            if step.action is not Action.KEEP:
                # Publish additions before the write: a pod may mount a new leaf at any moment after it. If no CA is
                # trusted yet, publish nothing: a concurrent writer may win. A Secret that does not exist has no mount.
                trusted = {ca for bundle in bundles for ca in pem.load_certificates(bundle)[0]}
                if stored and trusted and trusted <= {*state.cas}:
                    self._publish(configurations, state.bundle)
                    for error in configurations.errors.values():
                        if error.is_transient:
                            raise error
                # Write the Secret.
                data = secret_data.dump(state)
                self.store.write(data, stored)
                controller_metrics.count_certificate_change(step.action)
                fields = {"secret": self.secret, "action": step.action, "cause": step.reason}
                _log.info("certificate changed", extra={"fields": fields})
            # Publish removals, and restore what was overwritten.
            self._publish(configurations, state.bundle)
        # Report.
        self._observed = (data, configurations.by_webhook())
        _set_expiry(state)
        for error in configurations.errors.values():
            raise error

    def _read_configurations(self) -> _Configurations:
        """Raises ApiError, except for a missing permission: the other configuration is still reconciled."""
        configurations, missing = _Configurations(), []
        for configuration in self.configurations:
            try:
                bundles = configuration.read()
            except ApiError as error:
                if error.reason is not ErrorReason.FORBIDDEN:
                    raise
                configurations.errors[configuration] = error
                continue
            if bundles and bundles.by_webhook:
                configurations.bundles[configuration] = bundles
            else:
                missing.append(str(configuration))
        controller_metrics.set_missing_configurations(len(missing))
        if missing and missing != self._missing:
            fields = {"configurations": ", ".join(missing)}
            _log.warning("webhook configurations are missing or have no webhook of modelfit", extra={"fields": fields})
        self._missing = missing
        return configurations

    def _publish(self, configurations: _Configurations, bundle: bytes) -> None:
        """Sets `bundle` where another one is. A configuration that cannot be written does not affect the other."""
        for configuration, current in configurations.bundles.items():
            if stale := current.stale(bundle):
                try:
                    configurations.bundles[configuration] = configuration.publish(current, bundle)
                except ApiError as error:
                    configurations.errors[configuration] = error
                    continue
                overwritten = self._last_published.get(configuration) == bundle
                controller_metrics.count_bundle_patch("healed" if overwritten else "published")
                fields = {"configuration": str(configuration), "webhooks": ", ".join(stale)}
                if overwritten:
                    _log.warning("caBundle was overwritten, restored", extra={"fields": fields})
                else:
                    _log.info("caBundle published", extra={"fields": fields})
            self._last_published[configuration] = bundle


def _set_expiry(state: State) -> None:
    for name, pair in (("leaf", state.leaf), ("ca", state.current)):
        controller_metrics.set_certificate_expiry(name, pair.certificate.not_valid_after_utc if pair else None)
