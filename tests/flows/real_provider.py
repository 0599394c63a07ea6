"""A real provider of identities on loopback: Django OAuth Toolkit, with OpenID Connect.

    python -m tests.flows.real_provider PORT ANSWER_AT

It keeps everything in the current folder. Its people log in with `PASSWORD`; `GET /rename` gives
one another name, as an administrator of the provider would.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.flows.services import answers, free_port, service, wait_until

CLIENT, SECRET, PASSWORD = "hallmark-desk", "client-secret-of-the-tests", "correct horse"
PEOPLE = ("Ada", "grace", "root")

_PAGE = """<!doctype html><title>Provider</title><form method="post">{% csrf_token %}
{{ form.as_p }}<input type="hidden" name="next" value="{{ next }}"><button>Go in</button></form>"""


@contextmanager
def real_provider(folder: Path, answer_at: str) -> Iterator[str]:
    """The issuer of a provider that runs meanwhile, and answers to this redirect URI alone."""
    port = free_port()
    settings = {"PYTHONPATH": os.pathsep.join(sys.path), "OAUTHLIB_INSECURE_TRANSPORT": "1"}
    issuer = f"http://127.0.0.1:{port}/o"
    with service(["tests.flows.real_provider", str(port), answer_at], folder, settings):
        described = f"{issuer}/.well-known/openid-configuration"
        wait_until(lambda: answers(described), "the provider answers")
        yield issuer


def main(port: int, answer_at: str) -> None:
    """Make the provider's database and people, and answer until the process ends."""
    import django
    from django.conf import settings

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    settings.configure(
        SECRET_KEY="of the tests",
        ALLOWED_HOSTS=["127.0.0.1"],
        ROOT_URLCONF=sys.modules[__name__],
        INSTALLED_APPS=[
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django.contrib.sessions",
            "oauth2_provider",
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "provider.db"}},
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "OPTIONS": {
                    "loaders": [
                        ("django.template.loaders.locmem.Loader", {"log_in.html": _PAGE}),
                        "django.template.loaders.app_directories.Loader",
                    ],
                    "context_processors": ["django.template.context_processors.request"],
                },
            }
        ],
        LOGIN_URL="/log-in/",
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        OAUTH2_PROVIDER={
            "OIDC_ENABLED": True,
            "OIDC_RSA_PRIVATE_KEY": key.private_bytes(
                Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
            ).decode(),
            "OAUTH2_VALIDATOR_CLASS": "tests.flows.real_provider_claims.NamedInTokens",
            "SCOPES": {"openid": "who you are", "profile": "your name", "email": "your address"},
            "PKCE_REQUIRED": True,
        },
    )
    django.setup()
    from django.contrib.auth.models import User
    from django.core.management import call_command
    from django.core.servers.basehttp import run
    from django.core.wsgi import get_wsgi_application
    from oauth2_provider.models import Application

    call_command("migrate", verbosity=0)
    for name in PEOPLE:
        User.objects.create_user(name, password=PASSWORD)
    Application.objects.create(
        name="Hallmark",
        client_id=CLIENT,
        client_secret=SECRET,
        client_type="confidential",
        authorization_grant_type="authorization-code",
        redirect_uris=answer_at,
        algorithm="RS256",
    )
    _add_addresses()
    run("127.0.0.1", port, get_wsgi_application(), threading=True)


urlpatterns: list[object] = []


def _add_addresses() -> None:
    from django.contrib.auth.models import User
    from django.contrib.auth.views import LoginView
    from django.http import HttpResponse
    from django.urls import include, path

    def rename(request):  # type: ignore[no-untyped-def]
        named = User.objects.filter(username=request.GET["old"])
        return HttpResponse(named.update(username=request.GET["new"]))

    urlpatterns.extend(
        [
            path("log-in/", LoginView.as_view(template_name="log_in.html")),
            path("rename", rename),
            path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
        ]
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
