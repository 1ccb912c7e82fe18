"""From the settings of the webhook's certificate to the one who looks after it."""

from datetime import timedelta

from certs import names as naming
from certs.errors import InvalidNames, InvalidPolicy
from certs.policy import Policy
from webhook.cluster.api import Api
from webhook.cluster.secret_store import SecretStore
from webhook.cluster.webhook_configurations import WebhookConfiguration
from webhook.controller.certificates import Certificates
from webhook.errors import FieldError, InvalidSettings, quote
from webhook.settings import CertificatesSettings


def of(settings: CertificatesSettings, api: Api) -> Certificates:
    """Raises InvalidSettings over a name or lifetimes that no certificate can have."""
    # What the API server calls a webhook by that its configuration names as a Service.
    host = f"{settings.service}.{settings.namespace}.svc"
    try:
        naming.general_names([host])
        policy = Policy(
            timedelta(days=settings.ca_lifetime_days),
            timedelta(days=settings.leaf_lifetime_days),
            timedelta(minutes=settings.propagation_minutes),
        )
    except InvalidNames:
        raise InvalidSettings(
            [FieldError("certificates", quote(host), "a Service and a namespace of DNS labels")]
        ) from None
    except InvalidPolicy as error:
        # Said in the same grammar.
        parts = [fault.partition("; want ") for fault in error.faults]
        raise InvalidSettings(FieldError("certificates", saw, want) for saw, _, want in parts) from None
    mutating, validating = settings.mutating_webhook_configuration, settings.validating_webhook_configuration
    configurations = [WebhookConfiguration(api, "mutating", mutating)] if mutating else []
    configurations += [WebhookConfiguration(api, "validating", validating)] if validating else []
    store = SecretStore(api, settings.namespace, settings.secret)
    return Certificates(f"{settings.namespace}/{settings.secret}", store, configurations, [host], policy)
