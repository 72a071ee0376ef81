"""Who asks, and over what: on real engines with TLS, users and roles; the rest by what a receiver sees."""

from __future__ import annotations

import http.server
import json
import re
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from indexer.cli import main
from indexer.engine.client.access import SETTINGS
from indexer.engine.client.connection import connect
from indexer.engine.client.retries import RetryPolicy
from indexer.engine.setup.bulk_load import REDUCED
from indexer.engine.setup.provision import Provision
from indexer.engine.store.store import open_search_store
from indexer.errors import StoreError, UsageError
from indexer.library.opening import open_store
from indexer.model import Failure, Ref
from indexer.schemes.keys.simhash64 import simhash_keys
from tests.engines.certificates import Authority
from tests.engines.fleet import running
from tests.engines.servers import SecuredElasticsearch, SecuredOpenSearch, Server
from tests.stores.asked import documents_with_keys, holders_of, values_of
from tests.stores.made import INFO, put, record

# The least that each kind of work needs, in the words of each engine; mappings/README.md names the same.
ROLES_OF_ELASTICSEARCH = """
neardup_read:
  indices:
    - names: ["docs", "neardup-docs-*"]
      privileges: ["read", "view_index_metadata"]
neardup_write:
  indices:
    - names: ["docs", "neardup-docs-*"]
      privileges: ["read", "view_index_metadata", "write", "create_index", "maintenance"]
neardup_setup:
  cluster: ["manage_index_templates"]
  indices:
    - names: ["docs", "neardup-docs-*"]
      privileges: ["read", "write", "manage"]
neardup_other:
  indices:
    - names: ["something-else"]
      privileges: ["read"]
"""
_SEARCHING = ["cluster_composite_ops_ro", "manage_point_in_time"]
_READING = ["read", "indices:admin/get", "indices:admin/mappings/get", "indices:monitor/settings/get"]
_WRITING = [*_READING, "write", "create_index", "indices:admin/refresh*"]


def _role(names: Sequence[str], cluster: Sequence[str], index: Sequence[str]) -> dict[str, object]:
    return {"cluster_permissions": cluster, "index_permissions": [{"index_patterns": names, "allowed_actions": index}]}


_DOCS = ["docs", "neardup-docs-*"]
ROLES_OF_OPENSEARCH = {
    "superuser": _role(["*"], ["*"], ["*"]),
    "neardup_read": _role(_DOCS, _SEARCHING, _READING),
    "neardup_write": _role(_DOCS, [*_SEARCHING, "cluster_composite_ops"], _WRITING),
    "neardup_setup": _role(
        _DOCS,
        [*_SEARCHING, "cluster_composite_ops", "cluster_manage_index_templates", "cluster:admin/component_template/*"],
        ["read", "write", "manage"],
    ),
    "neardup_other": _role(["something-else"], _SEARCHING, _READING),
}
PASSWORD = "long-secret-word"
USERS = {
    "admin": (PASSWORD, "superuser"),
    "reader": (PASSWORD, "neardup_read"),
    "writer": (PASSWORD, "neardup_write"),
    "maker": (PASSWORD, "neardup_setup"),
    "stranger": (PASSWORD, "neardup_other"),
}
QUICK = RetryPolicy(timeout=10, limit=2, first=0.05, longest=0.2)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    made = Authority(tmp_path_factory.mktemp("certificates"), "ca")
    made.sign("server")
    made.sign("expired", expired=True)
    made.sign("elsewhere", address="192.0.2.1")
    made.sign("client")
    return made


@pytest.fixture(scope="module", params=["elasticsearch", "opensearch"])
def secured(request: pytest.FixtureRequest, authority: Authority) -> Iterator[Server]:
    if request.param == "elasticsearch":
        with running(lambda: SecuredElasticsearch(authority.folder, USERS, ROLES_OF_ELASTICSEARCH)) as server:
            yield server
    else:
        with running(lambda: SecuredOpenSearch(authority.folder, USERS, ROLES_OF_OPENSEARCH)) as other:
            yield other


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting of the machine's."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (*SETTINGS, "credentials"):
        monkeypatch.delenv(f"NEARDUP_{name.upper()}", raising=False)


@pytest.fixture
def be(monkeypatch: pytest.MonkeyPatch, authority: Authority):  # type: ignore[no-untyped-def]
    """Ask as this user from now on."""

    def be(user: str, password: str = PASSWORD) -> None:
        monkeypatch.setenv("NEARDUP_CA_CERT", str(authority.path))
        monkeypatch.setenv("NEARDUP_USERNAME", user)
        monkeypatch.setenv("NEARDUP_PASSWORD", password)

    return be


class TestOnARealServer:
    def test_each_role_can_do_its_work_and_no_more(self, secured: Server, be) -> None:  # type: ignore[no-untyped-def]
        url = f"{secured.url}/docs"
        be("maker")
        client = connect(url)
        provision = Provision(client)
        assert list(provision.carry_out(provision.set_up(INFO)))
        assert provision.set_up(INFO) == []
        client.close()
        be("writer")
        with open_store(url) as store:
            assert [status.value for status in put(store, record("a", 1), record("b", 1))] == ["created"] * 2
            assert store.annotate([(Ref("a"), {"x": 1})]) == 1
            store.put_failures([Failure(Ref("f"), "", "broken", "", "")])
            assert len(list(store.failures())) == 1
            assert store.delete([Ref("b")]) == 1
        be("reader")
        with open_store(url, read_only=True) as store:
            assert store.stats().documents == 1
            assert documents_with_keys(store, simhash_keys(1)) == values_of(store) == {Ref("a"): 1}
            assert holders_of(store, [1]) == [Ref("a")]
            assert len(list(store.scan())) == len(list(store.failures())) == 1
        with (
            open_store(url) as store,
            pytest.raises(StoreError, match=r"does not allow this to the user reader .*\(403\)"),
        ):
            put(store, record("c", 1))
        be("stranger")
        with pytest.raises(StoreError, match=r"does not allow this to the user stranger .*\(403\)"):
            open_store(url)

    def test_a_bulk_load_needs_one_privilege_more(self, secured: Server, be, capsys) -> None:  # type: ignore[no-untyped-def]
        url = f"{secured.url}/docs"
        be("maker")
        open_store(url, create=INFO).close()

        def described() -> tuple[dict[str, str], dict[str, object]]:
            be("maker")
            client = connect(url)
            found = client.request("GET", "/docs", flat_settings="true")["docs"]
            client.close()
            settings = {name: value for name, value in found["settings"].items() if name in REDUCED}
            return settings, found["mappings"]["_meta"]

        before = described()
        be("writer")
        with open_search_store(url) as store:
            with pytest.raises(StoreError) as refused, store.bulk_load():
                raise AssertionError("loading all the same")
            assert str(refused.value) == (
                f"{url}: a bulk load changes settings of docs, and the user writer with this password lacks the index "
                "privilege manage (403); get that, or load without --bulk-load"
            )
        # Nor is anything left to be restored.
        assert described() == before
        assert not capsys.readouterr().err
        be("maker")
        with open_search_store(url) as store:
            with store.bulk_load():
                assert described()[0] == REDUCED
            assert described() == before

    def test_no_credentials(self, secured: Server, authority: Authority, monkeypatch) -> None:  # type: ignore[no-untyped-def]
        monkeypatch.setenv("NEARDUP_CA_CERT", str(authority.path))
        with pytest.raises(StoreError, match=r"asks for credentials \(401\)"):
            open_store(f"{secured.url}/docs")

    def test_wrong_password(self, secured: Server, be) -> None:  # type: ignore[no-untyped-def]
        be("reader", "wrong-secret")
        with pytest.raises(StoreError, match=r"does not accept the user reader .*\(401\)") as caught:
            open_store(f"{secured.url}/docs")
        assert "wrong-secret" not in str(caught.value)

    def test_the_doctor_says_what_a_user_may_do(self, secured: Server, be, capsys) -> None:  # type: ignore[no-untyped-def]
        said = {
            "reader": "user reader with this password may read, and not write (lacks write, create_index, maintenance)",
            "writer": "user writer with this password may read and write, but neither set up nor load with --bulk-load",
            "admin": "user admin with this password may read and write, and set up",
        }
        if isinstance(secured, SecuredOpenSearch):
            said = dict.fromkeys(said, "OpenSearch does not tell a user's privileges")
        be("admin")
        client = connect(f"{secured.url}/docs")
        provision = Provision(client)
        list(provision.carry_out(provision.set_up(INFO)))
        client.close()
        for user, sentence in said.items():
            be(user)
            assert main(["doctor", "--store", f"{secured.url}/docs"]) == 7
            out = capsys.readouterr().out
            assert sentence in re.sub(r"\s+", " ", out)
            assert "ok       engine" in out
        be("stranger")
        assert main(["doctor", "--store", f"{secured.url}/docs"]) == 3
        printed = capsys.readouterr()
        assert (
            "may not read: lacks read, view_index_metadata on docs" in printed.out
            or "no permissions for [indices:admin/" in printed.err
        )

    def test_wrong_api_key(self, secured: Server, authority: Authority, monkeypatch) -> None:  # type: ignore[no-untyped-def]
        monkeypatch.setenv("NEARDUP_CA_CERT", str(authority.path))
        monkeypatch.setenv("NEARDUP_API_KEY", "bm90OmFLZXk=")
        with pytest.raises(StoreError, match=r"does not accept the API key \(401\)"):
            open_store(f"{secured.url}/docs")

    def test_a_ca_that_is_not_known(self, secured: Server, be, monkeypatch, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
        be("reader")
        monkeypatch.setenv("NEARDUP_CA_CERT", str(Authority(tmp_path, "other").path))
        with pytest.raises(StoreError, match="this machine does not trust the issuer"):
            open_store(f"{secured.url}/docs")
        with pytest.raises(StoreError, match="this machine does not trust the issuer"):
            open_store(f"elasticsearch+{secured.url}/docs")

    def test_verification_is_turned_off_by_name_only(self, secured: Server, be, monkeypatch, capfd) -> None:  # type: ignore[no-untyped-def]
        be("admin")
        monkeypatch.delenv("NEARDUP_CA_CERT")
        monkeypatch.setenv("NEARDUP_TLS_VERIFY", "false")
        open_store(f"{secured.url}/loose", create=INFO).close()
        assert "not verified" in capfd.readouterr().err
        monkeypatch.setenv("NEARDUP_TLS_VERIFY", "no")
        with pytest.raises(UsageError, match="must be true or false"):
            open_store(f"{secured.url}/loose")

    def test_a_credential_in_the_url_is_taken_with_a_warning_and_never_shown(
        self, secured: Server, authority: Authority, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("NEARDUP_CA_CERT", str(authority.path))
        url = secured.url.replace("://", "://admin:long%2Dsecret%2Dword@")
        with open_store(f"{url}/with-password", create=INFO) as store:
            put(store, record("a", 1))
            assert "secret" not in repr(vars(store)) + json.dumps(store.stats().extra)
            assert "secret" not in repr(store.client.access) + repr(store.client.target)  # type: ignore[attr-defined]
        said = capfd.readouterr().err
        assert "other users of this machine may see it" in said
        assert "secret" not in said
        with pytest.raises(StoreError) as caught:
            open_store(f"{url}/not-there")
        assert "secret" not in str(caught.value)

    def test_a_file_for_its_owner_only(
        self, secured: Server, authority: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        path = tmp_path / ".config" / "neardup" / "credentials.toml"
        path.parent.mkdir(parents=True)
        path.write_text(
            f'username = "nobody-known"\npassword = "x"\n["127.0.0.1"]\nusername = "admin"\npassword = "{PASSWORD}"\n'
            f'ca_cert = "{authority.path}"\n'
        )
        path.chmod(0o644)
        with pytest.raises(UsageError, match=f"run chmod 600 {path}"):
            open_store(f"{secured.url}/from-file", create=INFO)
        path.chmod(0o600)
        open_store(f"{secured.url}/from-file", create=INFO).close()
        # The environment is nearer than the file, and gives all credentials.
        monkeypatch.setenv("NEARDUP_API_KEY", "bm90OmFLZXk=")
        with pytest.raises(StoreError, match="API key"):
            open_store(f"{secured.url}/from-file")


class _Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.seen.append((dict(self.headers), self.connection))  # type: ignore[attr-defined]
        body = json.dumps({"docs": {"mappings": {}}}).encode()
        self.send_response(200)
        self.send_header("X-Elastic-Product", "Elasticsearch")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_PUT = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver(authority: Authority) -> Iterator:  # type: ignore[type-arg]
    """A function `receive(certificate, client_ca)` that starts a server of TLS; what it saw is in `.seen`."""
    started = []

    def receive(certificate: str = "server", *, asks_client: bool = False) -> http.server.ThreadingHTTPServer:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.folder / f"{certificate}.pem", authority.folder / f"{certificate}.key")
        if asks_client:
            context.load_verify_locations(authority.path)
            context.verify_mode = ssl.CERT_REQUIRED
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Receiver)
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        server.seen = []  # type: ignore[attr-defined]
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        started.append(server)
        return server

    yield receive
    for server in started:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("engine", ["", "elasticsearch+", "opensearch+"])
class TestWhatAReceiverSees:
    """The servers at hand can't check API keys, bearer tokens and client certificates."""

    def ask(self, engine: str, server: http.server.ThreadingHTTPServer) -> None:
        client = connect(f"{engine}https://127.0.0.1:{server.server_port}/docs", retry=QUICK)
        try:
            client.request("GET", "/docs/_mapping")
        finally:
            client.close()

    @pytest.mark.parametrize(
        ("settings", "header"),
        [
            ({"API_KEY": "a2V5OnNlY3JldA=="}, "ApiKey a2V5OnNlY3JldA=="),
            ({"BEARER_TOKEN": "token"}, "Bearer token"),
            ({"USERNAME": "us:er".replace(":", ""), "PASSWORD": "pä:ss"}, "Basic dXNlcjpww6Q6c3M="),
        ],
    )
    def test_the_header(self, engine: str, receiver, authority: Authority, monkeypatch, settings, header: str) -> None:  # type: ignore[no-untyped-def]
        monkeypatch.setenv("NEARDUP_CA_CERT", str(authority.path))
        for name, value in settings.items():
            monkeypatch.setenv(f"NEARDUP_{name}", value)
        server = receiver()
        self.ask(engine, server)
        assert {headers.get("Authorization", headers.get("authorization")) for headers, _ in server.seen} == {header}

    def test_a_client_certificate(self, engine: str, receiver, authority: Authority, monkeypatch) -> None:  # type: ignore[no-untyped-def]
        monkeypatch.setenv("NEARDUP_CA_CERT", str(authority.path))
        server = receiver(asks_client=True)
        with pytest.raises(StoreError, match="may want a client certificate"):
            self.ask(engine, server)
        monkeypatch.setenv("NEARDUP_CLIENT_CERT", str(authority.folder / "client.pem"))
        monkeypatch.setenv("NEARDUP_CLIENT_KEY", str(authority.folder / "client.key"))
        self.ask(engine, server)
        assert server.seen

    @pytest.mark.parametrize(
        ("certificate", "words"), [("expired", "certificate has expired"), ("elsewhere", "is for another name")]
    )
    def test_a_bad_certificate(
        self,
        engine: str,
        receiver: Callable[..., Any],
        authority: Authority,
        monkeypatch: pytest.MonkeyPatch,
        certificate: str,
        words: str,
    ) -> None:
        monkeypatch.setenv("NEARDUP_CA_CERT", str(authority.path))
        server = receiver(certificate)
        with pytest.raises(StoreError, match=words):
            self.ask(engine, server)
        assert not server.seen


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"API_KEY": "k", "USERNAME": "u"}, "api_key and username are both set"),
        ({"CA_CERT": "/not/there.pem"}, "/not/there.pem: can't be read"),
        ({"CREDENTIALS": "/not/there.toml"}, "does not exist"),
    ],
)
def test_settings_that_can_not_be_used(monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], words: str) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(f"NEARDUP_{name}", value)
    with pytest.raises(UsageError, match=words):
        open_store("https://127.0.0.1:1/docs")


def test_requests_are_signed_for_amazon(receiver, authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("NEARDUP_CA_CERT", str(authority.path))
    monkeypatch.setenv("NEARDUP_AWS_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "KEYID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "very-secret")
    server = receiver()
    client = connect(f"https://127.0.0.1:{server.server_port}/docs", retry=QUICK)
    client.request("GET", "/docs/_mapping")
    client.close()
    assert client.engine == "opensearch"
    # The questions for the version and for the alias as well.
    assert len(server.seen) == 3
    for headers, _ in server.seen:
        seen = {name.lower(): value for name, value in headers.items()}
        assert seen["authorization"].startswith("AWS4-HMAC-SHA256 Credential=KEYID/")
        assert "/eu-west-1/es/aws4_request" in seen["authorization"]
        assert seen["x-amz-date"]
