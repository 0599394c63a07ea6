"""What the ID tokens of the real provider say; imported by it once its settings are made."""

from typing import Any

from oauth2_provider.oauth2_validators import OAuth2Validator


class NamedInTokens(OAuth2Validator):
    """Adds the name with which somebody logs in at the provider."""

    def get_additional_claims(self, request: Any) -> dict[str, str]:
        """The claims besides those of the protocol."""
        return {"preferred_username": request.user.get_username()}
