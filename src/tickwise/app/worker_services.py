"""What the settings of a process say about everything that it executes."""

import os

from ..config import Settings
from ..core.redaction import redactor_of
from ..core.variables import ORDINARY
from ..runtime.executors.address import AddressPolicy
from ..runtime.secret_providers import SecretProviders
from ..runtime.secret_values import secrets_of_worker
from ..runtime.step_context import Services


def worker_services(settings: Settings) -> Services:
    """The services of a worker, before one run's are added."""
    own = [settings.notify_webhook.value, settings.notify_secret.value, settings.ping.value]
    own += [secret for route in settings.notify.values() for secret in route.secrets]
    secrets = secrets_of_worker(os.environ, {"store": settings.store, "secret": own})
    return Services(
        addresses=AddressPolicy(settings.addresses),
        variables=(*ORDINARY, *settings.pass_env),
        redactor=redactor_of(secrets),
        providers=SecretProviders(settings.secrets),
    )
