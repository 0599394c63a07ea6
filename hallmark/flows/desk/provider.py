"""Logging in by a provider of identities (OpenID Connect)."""

import os


def provider_name() -> str | None:
    """What the button says; None where no provider is set up."""
    return os.environ.get("HALLMARK_OIDC_NAME") if os.environ.get("HALLMARK_OIDC_ISSUER") else None
