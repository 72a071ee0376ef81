"""Credentials and certificates, from the environment or an owner-only file."""

from __future__ import annotations

import base64
import html
import json
import os
import re
import ssl
import stat
import sys
import tomllib
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from indexer.errors import UsageError
from indexer.text.hiding import without_secrets
from indexer.text.remarks import remark

CREDENTIALS_FILE = "NEARDUP_CREDENTIALS"
DEFAULT_FILE = Path("~/.config/neardup/credentials.toml")
# The settings, by the name that they have in the file; in the environment NEARDUP_ and the same in capitals.
SETTINGS = (
    "api_key",
    "username",
    "password",
    "bearer_token",
    "client_cert",
    "client_key",
    "ca_cert",
    "tls_verify",
    "aws_region",
    "aws_service",
)
# The settings that are sent in a header as they are.
_SENT_PLAIN = frozenset({"api_key", "bearer_token", "aws_region", "aws_service"})


@dataclass(frozen=True, slots=True)
class Access:
    """Credentials and certificates for one cluster; repr() shows no secret field.

    `verify` is False only if the user turned verification off by name; `region` asks for requests signed with Amazon's
    SigV4, by botocore's credentials. `from_url` says that the user stood in the URL, perhaps with a secret in it.
    """

    api_key: str = field(default="", repr=False)
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    bearer_token: str = field(default="", repr=False)
    client_cert: str = ""
    client_key: str = ""
    ca_cert: str = ""
    verify: bool = True
    region: str = ""
    service: str = "es"
    from_url: bool = False

    @property
    def kind(self) -> str:
        if self.api_key:
            return "API key"
        if self.bearer_token:
            return "bearer token"
        if self.username:
            return "user of the URL" if self.from_url else f"user {self.username} with this password"
        if self.region:
            return "signature of Amazon's SigV4"
        return "client certificate" if self.client_cert else ""

    def headers(self) -> dict[str, str]:
        if self.api_key:
            return {"Authorization": f"ApiKey {self.api_key}"}
        if self.bearer_token:
            return {"Authorization": f"Bearer {self.bearer_token}"}
        if self.username:
            return {"Authorization": f"Basic {self._pair()}"}
        return {}

    def _pair(self) -> str:
        return base64.b64encode(f"{self.username}:{self.password}".encode()).decode("ascii")

    def hidden(self, text: str) -> str:
        secrets = [self.api_key, self.bearer_token, self.password]
        if self.username:
            # A user without a password may be a token.
            secrets += [self._pair(), "" if self.password else self.username]
        forms = (
            str,
            urllib.parse.quote,
            urllib.parse.quote_plus,
            html.escape,
            _escaped,
            lambda one: repr(one)[1:-1],
        )
        return without_secrets(text, {form(one) for one in secrets for form in forms})

    def ssl_context(self) -> ssl.SSLContext:
        """The TLS context with the machine's or the named CA. Raises UsageError if a file can't be read."""
        for name in ("ca_cert", "client_cert", "client_key"):
            path = getattr(self, name)
            if path and not os.access(path, os.R_OK):
                # In place of the name of the key's file there may be the key.
                shown = "the file" if name == "client_key" else path
                raise UsageError(f"{shown}: can't be read (it is named as {name.replace('_', ' ')})")
        try:
            context = ssl.create_default_context(cafile=self.ca_cert or None)
            if self.client_cert:
                context.load_cert_chain(self.client_cert, self.client_key or None)
        except ssl.SSLError as error:
            raise UsageError(f"{self.ca_cert or self.client_cert}: no certificate in PEM form: {error}") from error
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def load_access(host: str, shown: str, user: str = "", password: str = "") -> Access:
    """The access to a host: environment before file; a credential of the URL before both, with a warning.

    Raises UsageError for a file readable by others, contradicting settings, and values no header can hold; a value is
    never shown.
    """
    settings = _from_file(host)
    for name in SETTINGS:
        value = os.environ.get(f"NEARDUP_{name.upper()}")
        if value:
            _require_usable(f"NEARDUP_{name.upper()}", name, value)
            settings = _without_rivals(settings, name) | {name: value}
    if password and not user:
        raise UsageError(f"{shown}: the URL has a password and no user before it")
    if user:
        for name, value in (("username", user), ("password", password)):
            _require_usable(f"{shown}: the {name} in the URL", name, value)
        remark(
            f"{shown}: the credential in the URL is used, but other users of this machine may see it; "
            "NEARDUP_USERNAME and NEARDUP_PASSWORD are safer",
            level="warning",
        )
        settings = _without_rivals(settings, "username") | {"username": user, "password": password}
    ways = [name for name in ("api_key", "bearer_token", "username") if settings.get(name)]
    if len(ways) > 1:
        raise UsageError(f"{shown}: {' and '.join(ways)} are both set; keep one of them")
    verify = settings.get("tls_verify", "").lower()
    if verify not in ("", "true", "false"):
        raise UsageError("tls_verify must be true or false")
    if verify == "false":
        remark(f"{shown}: the server's certificate is not verified, as asked for", level="warning")
    given = {name: settings.get(name, "") for name in SETTINGS[:7]}
    region, service = settings.get("aws_region", ""), settings.get("aws_service", "es")
    return Access(**given, verify=verify != "false", region=region, service=service, from_url=bool(user))


def _require_usable(where: str, name: str, value: str) -> None:
    problem = ""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        # With its context the error would hold the value.
        problem = "is no text in UTF-8"
    if re.search(r"[\x00-\x1f\x7f-\x9f]", value):
        problem = problem or "holds a control character, maybe a line break at its end; take it out"
    elif name in _SENT_PLAIN and not re.fullmatch(r"[\x21-\x7e]+", value):
        problem = problem or "holds a space or a character beyond ASCII, which it can't have"
    elif name == "username" and ":" in value:
        problem = problem or "holds a colon, which a user's name can't have"
    if problem:
        raise UsageError(f"{where} {problem}")


def _escaped(text: str) -> str:
    return json.dumps(text)[1:-1]


def _without_rivals(settings: Mapping[str, str], name: str) -> dict[str, str]:
    rivals = {"api_key": ("username", "password", "bearer_token"), "bearer_token": ("username", "password", "api_key")}
    gone = rivals.get(name, ("api_key", "bearer_token") if name == "username" else ())
    own = {other for other in gone if not os.environ.get(f"NEARDUP_{other.upper()}")}
    return {key: value for key, value in settings.items() if key not in own}


def _require_private(path: Path, status: os.stat_result) -> None:
    if sys.platform == "win32":
        # Who may read a file is not said by its mode there; a user's own folder is private.
        return
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise UsageError(f"{path}: others can read the credentials; run chmod 600 {path}")
    if status.st_uid not in (os.geteuid(), 0):
        raise UsageError(f"{path}: the credentials belong to another user")


def _from_file(host: str) -> dict[str, str]:
    named = os.environ.get(CREDENTIALS_FILE)
    path = Path(named or DEFAULT_FILE).expanduser()
    try:
        with path.open("rb") as opened:
            _require_private(path, os.fstat(opened.fileno()))
            content = tomllib.load(opened)
    except FileNotFoundError:
        if named:
            raise UsageError(f"{CREDENTIALS_FILE} names a file that does not exist") from None
        return {}
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        # The text of a TOML error can hold a piece of the file.
        why = error.strerror if isinstance(error, OSError) else "it is no TOML"
        raise UsageError(f"{path}: the credentials can't be read: {why}") from None
    place = urllib.parse.urlsplit(host)
    settings = {key: value for key, value in content.items() if not isinstance(value, dict)}
    for table in (place.hostname or "", place.netloc):
        own = content.get(table, {})
        settings |= own if isinstance(own, dict) else {}
    unknown = sorted(set(settings) - set(SETTINGS))
    if unknown:
        raise UsageError(f"{path}: unknown setting {unknown[0]!r}; known: {', '.join(SETTINGS)}")
    for key, value in settings.items():
        if not isinstance(value, str | int):
            raise UsageError(f"{path}: {key} is neither text nor true or false")
        _require_usable(f"{path}: {key}", key, str(value))
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in settings.items()}
