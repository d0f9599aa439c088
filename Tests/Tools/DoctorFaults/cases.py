"""The planted faults with the causes that they have to lead to, and the healthy paths, which lead to none.

A function plants one case on a bench and returns the path that is examined. Its decorator has the data: the name, the
causes as `chappie doctor --json` names them, in order, and the verdict.
"""

import dataclasses
import os
import subprocess

import boxes
from bench import Path, Missing, free_port, port_of, program

# What lets nginx pass WebSockets on.
UPGRADE = "proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;"

WORKS, DEGRADED, FAILS = "works", "degraded", "fails"
# The step of each layer, by the first part of a cause's name.
STEPS = {
    "environment": "environment", "resolve": "resolve", "connect": "connect", "proxy": "proxy", "tls": "tls",
    "http": "http", "credential": "credential", "web-socket": "webSocket", "compression": "compression",
    "early-close": "earlyClose", "messages": "messages", "pings": "pings", "event-stream": "eventStream",
    "idle": "idle",
}
EVERYWHERE, NAMESPACE, NETEM = "everywhere", "namespace", "netem"


@dataclasses.dataclass
class Case:
    name: str
    verdict: str
    causes: list
    plant: object
    # Where it can run: everywhere, in a namespace with a resolver and users of its own, or in one with netem.
    place: str = EVERYWHERE
    # Whether the cause need not show, on a path that is a matter of chance.
    is_chance: bool = False


CASES = []


def fault(name, *causes, verdict=FAILS, place=EVERYWHERE, is_chance=False):
    def register(plant):
        CASES.append(Case(name, verdict, list(causes), plant, place, is_chance))
        return plant
    return register


def healthy(name, place=EVERYWHERE):
    return fault(name, verdict=WORKS, place=place)


def plain(port, *options, host="127.0.0.1", **environment):
    return Path(f"http://{host}:{port}/v1", list(options), environment)


def named(name, port, *options, **environment):
    return plain(port, *options, host=f"{name}.{boxes.Resolver.ZONE}", **environment)


def secure(bench, port, *options, ca="ca.pem", **environment):
    return Path(f"https://127.0.0.1:{port}/v1", ["--ca-file", bench.path(ca), *options], environment)


def through(port, *options, login="", scheme="http", host="127.0.0.1"):
    return ["--proxy", f"{scheme}://{login and login + '@'}{host}:{port}", *options]


# MARK: The process and its settings

@fault("clock ahead by a day", "environment.clock", verdict=WORKS)
def clock(bench):
    path = plain(bench.probe(), FAKETIME_DONT_FAKE_MONOTONIC="1", DONT_FAKE_MONOTONIC="1")
    path.prefix = [program("faketime"), "-f", "+1d"]
    return path


@fault("a server whose Date is a day old", "environment.clock", verdict=WORKS)
def old_date(bench):
    return plain(bench.listener(boxes.api(boxes.answering, date=-86_400)))


@fault("nginx: clock behind by a day", "environment.clock", verdict=WORKS)
def clock_nginx(bench):
    location = f"proxy_pass http://127.0.0.1:{bench.probe()}; proxy_buffering off; {UPGRADE}"
    path = plain(bench.nginx(location), FAKETIME_DONT_FAKE_MONOTONIC="1", DONT_FAKE_MONOTONIC="1")
    path.prefix = [program("faketime"), "-f", "-1d"]
    return path


@fault("clock behind by a month, TLS", "tls.not-yet-valid")
def clock_behind(bench):
    path = secure(bench, bench.secure_probe(), FAKETIME_DONT_FAKE_MONOTONIC="1", DONT_FAKE_MONOTONIC="1")
    path.prefix = [program("faketime"), "-f", "-30d"]
    return path


@fault("SSL_CERT_FILE that is not there", "environment.trust-anchors")
def no_trust_file(bench):
    return Path(f"https://127.0.0.1:{bench.secure_probe()}/v1", [], {"SSL_CERT_FILE": bench.path("nothing.pem")})


@fault("a proxy URL that is none", "environment.proxy-url")
def bad_proxy(bench):
    return plain(bench.probe(), HTTP_PROXY="gopher://proxy.test:70")


@fault("48 file descriptors", "environment.few-descriptors", verdict=DEGRADED)
def few_descriptors(bench):
    path = plain(bench.probe())
    path.prefix = ["/bin/sh", "-c", 'ulimit -n 48; exec "$@"', "sh"]
    return path


# MARK: Names

@fault("a name that there is not", "resolve.unknown-name", place=NAMESPACE)
def unknown_name(bench):
    return named("nothing", bench.probe())


@fault("a resolver that does not answer", "resolve.no-answer", place=NAMESPACE)
def mute_resolver(bench):
    return named("mute", bench.probe())


@fault("a resolver that fails", "resolve.no-answer", place=NAMESPACE)
def failing_resolver(bench):
    return named("fails", bench.probe())


@fault("a resolver that answers for IPv4 alone", "resolve.slow", verdict=DEGRADED, place=NAMESPACE)
def half_resolver(bench):
    return named("mute6", bench.probe())


@fault("a resolver that blocks the name", "resolve.blocked", place=NAMESPACE)
def blocked_name(bench):
    return named("blocked", bench.probe())


# MARK: TCP

@fault("a closed port", "connect.refused")
def closed_port(bench):
    return plain(free_port())


@fault("a black hole", "connect.no-answer")
def black_hole(bench):
    return plain(bench.black_hole())


@fault("IPv6 that is a black hole", "connect.ipv6-silent", verdict=DEGRADED, place=NAMESPACE)
def black_hole_6(bench):
    port = bench.probe()
    bench.black_hole(address="::1", port=port)
    return named("both", port)


@fault("IPv4 that is a black hole", "connect.ipv4-silent", verdict=DEGRADED, place=NAMESPACE)
def black_hole_4(bench):
    port = bench.probe("--listen", "::1")
    bench.black_hole(port=port)
    return named("both", port)


@fault("no route", "connect.no-route", place=NAMESPACE)
def no_route(bench):
    return named("no-route", 80)


@fault("a black hole, and the proxy of the other scheme", "connect.no-answer", "environment.proxy-of-other-scheme")
def other_scheme(bench):
    return plain(bench.black_hole(), HTTPS_PROXY="http://127.0.0.1:3128")


# MARK: Proxies

@fault("squid: 407 without a login", "proxy.login-missing")
def squid_without_login(bench):
    return plain(bench.probe(), *through(bench.squid()))


@fault("squid: 407 for a wrong login", "proxy.login-refused")
def squid_wrong_login(bench):
    return plain(bench.probe(), *through(bench.squid(), login="alice:wrong"))


@fault("squid: rules forbid the server", "proxy.refused")
def squid_denies(bench):
    port = bench.squid(change=("http_access allow known", ""))
    return plain(bench.probe(), *through(port, login="alice:secret"))


@fault("squid: nothing behind it", "proxy.refused")
def squid_to_nothing(bench):
    return plain(free_port(), *through(bench.open_squid()))


@fault("squid: its own certificate is not trusted", "proxy.certificate")
def squid_certificate(bench):
    port = bench.secure_probe()
    os.rename(bench.path("ca.pem"), bench.path("trusted.pem"))
    bench.certificate(subject="/CN=squid")
    listen = f"https_port 127.0.0.1:@PORT@ tls-cert={bench.path('server.pem')} tls-key={bench.path('server.key')}"
    return secure(bench, port, *through(bench.open_squid(listen=listen), scheme="https"), ca="trusted.pem")


@fault("tinyproxy: the port is not allowed", "proxy.refused")
def tinyproxy_denies(bench):
    return plain(bench.probe(), *through(bench.tinyproxy("ConnectPort 443")))


@fault("tinyproxy: no login", "proxy.login-missing")
def tinyproxy_login(bench):
    return plain(bench.probe(), *through(bench.tinyproxy("BasicAuth alice secret")))


@fault("tinyproxy: a wrong login", "proxy.login-refused")
def tinyproxy_wrong_login(bench):
    return plain(bench.probe(), *through(bench.tinyproxy("BasicAuth alice secret"), login="alice:wrong"))


@fault("dante: rules forbid the port", "proxy.refused")
def dante_denies(bench):
    return plain(9, *through(bench.dante(), scheme="socks5h"))


@fault("dante: a wrong login", "proxy.login-refused", place=NAMESPACE)
def dante_wrong_login(bench):
    return plain(bench.probe(), *through(bench.dante("username"), scheme="socks5h", login="alice:wrong"))


@fault("dante: no login", "proxy.login-missing", place=NAMESPACE)
def dante_without_login(bench):
    return plain(bench.probe(), *through(bench.dante("username"), scheme="socks5h"))


@fault("nginx, named as a SOCKS proxy", "proxy.other-protocol")
def nginx_as_socks(bench):
    return plain(bench.probe(), *through(bench.nginx("return 404;"), scheme="socks5"))


# It waits for the end of a line, and answers CONNECT.
@fault("squid, named as a SOCKS proxy", "proxy.other-protocol")
def squid_as_socks(bench):
    return plain(bench.probe(), *through(bench.open_squid(), scheme="socks5"))


@fault("a proxy that does not run", "proxy.unreachable")
def proxy_closed(bench):
    return plain(bench.probe(), *through(free_port()))


@fault("a proxy that does not answer", "proxy.no-answer")
def proxy_silent(bench):
    return plain(bench.probe(), *through(bench.listener(boxes.silent)))


@fault("a proxy that cuts the connection", "proxy.cut")
def proxy_cut(bench):
    return plain(bench.probe(), *through(bench.listener(lambda connection: boxes.read_head(connection))))


@fault("a proxy whose name there is not", "proxy.unresolved", place=NAMESPACE)
def proxy_unknown(bench):
    return plain(bench.probe(), *through(3128, host=f"nothing.{boxes.Resolver.ZONE}"))


@fault("a web server in the proxy's place that accepts everything", "http.not-http")
def proxy_page(bench):
    page = boxes.answer("200 OK", "<!doctype html><title>It works</title>", "text/html")
    return plain(bench.probe(), *through(bench.listener(boxes.static(page))))


# MARK: TLS

@fault("mitmproxy, its authority not trusted", "tls.inspected")
def inspected(bench):
    port = bench.secure_probe()
    return secure(bench, port, *through(bench.mitmproxy()))


@fault("an authority that is not known", "tls.unknown-issuer")
def unknown_issuer(bench):
    return Path(f"https://127.0.0.1:{bench.secure_probe()}/v1")


def nginx_with_tls(bench, answer="return 404;", addresses=("127.0.0.1",), more="", **certificate):
    """The port of a server of nginx with a certificate."""
    bench.certificate(**certificate)
    tls = free_port()
    listens = " ".join(f"listen {address}:{tls} ssl;" for address in addresses)
    bench.nginx(answer, f"{listens} ssl_certificate {bench.path('both.pem')};"
                f" ssl_certificate_key {bench.path('both.pem')}; {more}")
    return tls


def served_by_nginx(bench, **certificate):
    """A server of nginx with a certificate."""
    return secure(bench, nginx_with_tls(bench, **certificate))


@fault("nginx: no intermediate certificate", "tls.incomplete-chain")
def incomplete_chain(bench):
    return served_by_nginx(bench, intermediate="missing")


@fault("nginx: an intermediate certificate that has expired", "tls.authority-expired")
def expired_intermediate(bench):
    return served_by_nginx(bench, intermediate="expired")


@fault("nginx: an expired certificate", "tls.expired")
def expired(bench):
    return served_by_nginx(bench, moved="-9d")


@fault("nginx: a certificate of next week", "tls.not-yet-valid")
def not_yet_valid(bench):
    return served_by_nginx(bench, moved="+7d")


@fault("nginx: a certificate for another name", "tls.wrong-host")
def wrong_name(bench):
    return served_by_nginx(bench, name="DNS:other.test")


@fault("openssl s_server: a client's certificate is demanded", "tls.refused")
def client_certificate(bench):
    return s_server(bench, "-Verify", "1", "-verify_return_error", "-CAfile", "ca.pem")


@fault("nginx: a client's certificate is demanded", "tls.refused")
def nginx_client_certificate(bench):
    authority = f"ssl_client_certificate {bench.path('ca.pem')}; ssl_verify_client on;"
    return secure(bench, nginx_with_tls(bench, more=authority))


def s_server(bench, *options):
    """A server of OpenSSL with a certificate."""
    bench.certificate()
    port = free_port()
    bench.listen("s_server", ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", "both.pem", "-key",
                              "server.key", "-quiet", *options], port)
    return secure(bench, port)


@fault("a server without TLS, with https", "tls.plain-http")
def not_tls(bench):
    return Path(f"https://127.0.0.1:{bench.probe()}/v1")


@fault("a server of mail, with https", "tls.not-tls")
def mail_not_tls(bench):
    return Path(f"https://127.0.0.1:{bench.listener(boxes.banner)}/v1")


@fault("TLS that is reset in the handshake", "tls.cut")
def tls_reset(bench):
    url = bench.serve("--upstream", f"https://127.0.0.1:{bench.secure_probe()}", "--fault", "reset@300:to-client")
    return secure(bench, port_of(url))


@fault("a server of SSH, which speaks first, with https", "tls.not-tls")
def ssh_not_tls(bench):
    return Path(f"https://127.0.0.1:{bench.listener(boxes.greeting)}/v1")


@fault("a server that closes at the handshake, with https", "tls.cut")
def closes_at_handshake(bench):
    return Path(f"https://127.0.0.1:{bench.listener(lambda connection: connection.recv(65536))}/v1")


@fault("a server that does not know the name, with https", "tls.refused")
def unrecognized_name(bench):
    return Path(f"https://127.0.0.1:{bench.listener(boxes.alerting(112))}/v1")


@fault("openssl s_server: HTTP/2 alone", "tls.refused")
def http2_alone(bench):
    return s_server(bench, "-alpn", "h2")


@fault("openssl s_server: TLS 1.1 alone", "tls.refused")
def old_tls(bench):
    return s_server(bench, "-tls1_1", "-cipher", "ALL:@SECLEVEL=0")


@fault("nginx: an authority with the name of a root and an address", "tls.unknown-issuer")
def private_root(bench):
    return served_by_nginx(bench, intermediate="missing", authority="Doctor Faults Root")


@fault("TLS that is not answered", "tls.no-answer")
def tls_silent(bench):
    return Path(f"https://127.0.0.1:{bench.listener(boxes.silent)}/v1")


# MARK: HTTP

def page(status, text, *fields):
    return boxes.static(boxes.answer(status, f"<!DOCTYPE html><html><body>{text}</body></html>", "text/html", fields))


@fault("a captive portal that redirects", "http.captive-portal")
def portal_redirects(bench):
    return plain(bench.listener(page("302 Found", "Moved", "Location: http://portal.test/welcome")))


@fault("a captive portal that answers", "http.captive-portal", place=NAMESPACE)
def portal_answers(bench):
    return named("only4", bench.listener(page("200 OK", "Welcome to our network. Agree to the terms.")))


@fault("another program's page, on this machine", "http.wrong-address")
def other_program(bench):
    return plain(bench.listener(page("200 OK", "Welcome to this program.")))


@fault("a captive portal with 511", "http.captive-portal")
def portal_511(bench):
    return plain(bench.listener(page("511 Network Authentication Required", "Agree to the terms.")))


@fault("a sign-in page", "http.sign-in-page")
def sign_in(bench):
    return plain(bench.listener(page("302 Found", "Moved", "Location: https://id.test/saml/login?next=1")))


@fault("a page that blocks", "http.block-page")
def block_page(bench):
    return plain(bench.listener(page("403 Forbidden", "Access denied by your organization's web filter")))


@fault("nginx: nothing behind it", "http.gateway-error")
def bad_gateway(bench):
    return plain(bench.nginx(f"proxy_pass http://127.0.0.1:{free_port()};"))


@fault("a balancer whose JSON says that it waited in vain", "http.gateway-error")
def balancer_json(bench):
    text = boxes.answer("504 Gateway Timeout", '{"message":"Endpoint request timed out"}')
    return plain(bench.listener(boxes.static(text)))


@fault("a page that tries for a browser", "http.block-page")
def challenge(bench):
    return plain(bench.listener(page("503 Service Unavailable", "Checking your browser before accessing api.test.")))


@fault("a page about too many requests", "http.limited")
def limited(bench):
    return plain(bench.listener(page("429 Too Many Requests", "You are being rate limited.")))


@fault("a server that says OK to everything", "http.wrong-address")
def says_ok(bench):
    return plain(bench.listener(boxes.static(boxes.answer("200 OK", "OK", "text/plain"))))


def listing(status, body="{}"):
    """An API of which the list of models alone works, without the key too."""
    def serve(connection):
        while head := boxes.read_head(connection)[0]:
            is_list = head.startswith(b"GET /v1/models ")
            connection.sendall(boxes.answer("200 OK" if is_list else status, body))
    return serve


@fault("a server of Chat Completions alone", "http.no-responses")
def chat_alone(bench):
    return plain(bench.listener(listing("404 Not Found", '{"detail":"Not Found"}')), "--api-key", "sk-fake")


@fault("another service with JSON", "http.wrong-address")
def other_service(bench):
    text = boxes.answer("200 OK", '{"name":"node","tagline":"You Know, for Search"}')
    return plain(bench.listener(boxes.static(text)), "--api-key", "sk-fake")


@fault("a list of models that is cut, and no responses behind the key", "http.no-responses")
def cut_list(bench):
    def serve(connection):
        while head := boxes.read_head(connection)[0]:
            if head.startswith(b"GET /v1/models "):
                return
            status = "404 Not Found" if boxes.field(head, "authorization") else "401 Unauthorized"
            connection.sendall(boxes.answer(status, "{}"))
    return plain(bench.listener(serve), "--api-key", "sk-fake")


@fault("a public list of models, and a key that is not accepted", "credential.refused")
def public_list(bench):
    return plain(bench.listener(listing("401 Unauthorized")), "--api-key", "sk-wrong")


@fault("nginx: a list of models that its server does not give", "web-socket.not-offered", verdict=DEGRADED)
def broken_list(bench):
    answer = boxes.answer("400 Bad Request", '{"error":{"message":"no model"}}')
    return plain(bench.nginx(f"if ($uri = /v1/models) {{ return 502; }} "
                             f"proxy_pass http://127.0.0.1:{bench.listener(boxes.static(answer))};"))


@fault("nginx: a list of models, and nothing behind the responses", "http.gateway-error", "web-socket.not-offered")
def responses_unreachable(bench):
    return plain(bench.nginx("if ($request_method = POST) { return 502; } "
                             f"proxy_pass http://127.0.0.1:{bench.listener(listing('404 Not Found'))};"))


def listed(text):
    """A gateway that gives the responses alone, over both transports, and answers the GET of the models so."""
    def serve(connection):
        while head := boxes.read_head(connection)[0]:
            if boxes.is_upgrade(head):
                return boxes.answering(connection, head)
            is_list = head.startswith(b"GET /v1/models ")
            connection.sendall(text if is_list else boxes.answer("400 Bad Request", '{"error":{"message":"empty"}}'))
    return serve


@healthy("a list of models that a page forbids, and responses")
def list_forbidden(bench):
    return plain(bench.listener(listed(boxes.answer("403 Forbidden", "<html>403 Forbidden</html>", "text/html"))))


@healthy("a page in the place of the list of models, and responses")
def list_page(bench):
    return plain(bench.listener(listed(boxes.answer("200 OK", "<!doctype html><title>App</title>", "text/html"))))


@healthy("a list of models behind a sign-in page, and responses")
def list_sign_in(bench):
    fields = ["Location: https://id.test/saml/login?next=1"]
    return plain(bench.listener(listed(boxes.answer("302 Found", "", "text/html", fields))))


@healthy("a list of models with a malformed head, and responses")
def list_malformed(bench):
    return plain(bench.listener(listed(b"garbage\r\n\r\n")))


def posted(upgrade, status="", body="{}", kind="application/json", fields=()):
    """An API of which the list of models and, by `upgrade`, the WebSocket work; without a status the POST is cut."""
    def serve(connection):
        while head := boxes.read_head(connection)[0]:
            if boxes.is_upgrade(head):
                return upgrade(connection, head)
            if head.startswith(b"GET /v1/models "):
                connection.sendall(boxes.answer("200 OK", '{"object":"list","data":[]}'))
            elif not status:
                return
            else:
                connection.sendall(boxes.answer(status, body, kind, fields))
    return serve


NO_UPGRADE = boxes.refused("404 Not Found")


@fault("a list of models, and a POST that is cut", "http.cut", "web-socket.not-offered")
def post_cut(bench):
    return plain(bench.listener(posted(NO_UPGRADE)))


@fault("a list of models, and a POST that is redirected", "http.redirected", "web-socket.not-offered")
def post_redirected(bench):
    return plain(bench.listener(posted(NO_UPGRADE, "307 Temporary Redirect", fields=["Location: /v1/responses/"])))


@fault("a list of models, and a POST that a page blocks", "http.block-page", "web-socket.not-offered")
def post_blocked(bench):
    return plain(bench.listener(posted(NO_UPGRADE, "403 Forbidden", "<html>403 Forbidden</html>", "text/html")))


@fault("a list of models, and a text that forbids the POST", "credential.forbidden")
def post_forbidden(bench):
    return plain(bench.listener(posted(NO_UPGRADE, "403 Forbidden", "Forbidden", "text/plain")), "--api-key", "sk-fake")


@fault("a WebSocket, and a gateway in the place of the POST", "http.gateway-error", verdict=DEGRADED)
def socket_and_gateway(bench):
    return plain(bench.listener(posted(boxes.answering, "502 Bad Gateway", "<html>502</html>", "text/html")))


@fault("a WebSocket alone", "http.not-offered", verdict=DEGRADED)
def socket_alone(bench):
    return plain(bench.listener(posted(boxes.answering, "405 Method Not Allowed")))


@healthy("a WebSocket, and an error of the server's about the empty POST")
def socket_and_error(bench):
    return plain(bench.listener(posted(boxes.answering, "500 Internal Server Error", '{"error":{}}')))


@fault("a page titled as one for signing in", "http.sign-in-page")
def sign_in_title(bench):
    return plain(bench.listener(page("403 Forbidden", "<title>Sign In</title><form><button>Sign in</button></form>")))


@fault("a server that says in a success that it knows no responses", "http.no-responses")
def unknown_in_success(bench):
    def serve(connection):
        while head := boxes.read_head(connection)[0]:
            is_list = head.startswith(b"GET /v1/models ")
            text = '{"object":"list","data":[]}' if is_list else '{"error":"Unexpected endpoint or method."}'
            connection.sendall(boxes.answer("200 OK", text))
    return plain(bench.listener(serve))


@fault("a key that the upgrade alone does not accept", "web-socket.unauthorized", verdict=DEGRADED)
def upgrade_401(bench):
    box = posted(boxes.refused("401 Unauthorized"), "400 Bad Request")
    return plain(bench.listener(box), "--api-key", "sk-fake")


@fault("one refusal of everything", "http.wrong-address")
def one_refusal(bench):
    return plain(bench.listener(boxes.static(boxes.answer("418 I'm a teapot", "no", "text/plain"))))


@fault("a limit of requests, in JSON", "web-socket.limited", verdict=DEGRADED)
def limited_json(bench):
    text = boxes.answer("429 Too Many Requests", '{"error":{}}', fields=["Retry-After: 20"])
    return plain(bench.listener(boxes.static(text)), "--api-key", "sk-fake")


@fault("a list of models, a limit of the POST, and no WebSocket", "http.responses-limited", "web-socket.not-offered",
       verdict=DEGRADED)
def limited_post(bench):
    return plain(bench.listener(posted(NO_UPGRADE, "429 Too Many Requests", '{"error":{}}')), "--api-key", "sk-fake")


@healthy("a public list of models, responses that demand a key, and none given")
def public_list_without_key(bench):
    return plain(bench.listener(posted(NO_UPGRADE, "401 Unauthorized")))


@fault("a gateway that asks for a user name", "credential.refused")
def basic(bench):
    text = boxes.answer("401 Unauthorized", "<html>401</html>", "text/html", ['WWW-Authenticate: Basic realm="api"'])
    return plain(bench.listener(boxes.static(text)), "--api-key", "sk-fake")


def asking(bench, status=401):
    """The port of nginx in front of an API, which answers a request without the key with its own page."""
    behind = port_of(bench.serve())
    return bench.nginx(f'if ($http_authorization != "Bearer sk-fake") {{ return {status}; }} '
                       f"proxy_pass http://127.0.0.1:{behind}; proxy_buffering off; {UPGRADE}")


def hiding(bench):
    """The same, with the page of a path that does not exist."""
    return asking(bench, status=404)


@fault("nginx: a page that asks for the key, elsewhere and without TLS", "http.asks-credential", verdict=DEGRADED,
       place=NAMESPACE)
def asked_elsewhere(bench):
    return named("only4", asking(bench), "--api-key", "sk-fake")


@fault("nginx: 404 without the key, elsewhere and without TLS", "http.credential-withheld", verdict=DEGRADED,
       place=NAMESPACE)
def hidden_elsewhere(bench):
    return named("only4", hiding(bench), "--api-key", "sk-fake")


@fault("nginx: 404 without the key, elsewhere, and none is given", "http.wrong-address", place=NAMESPACE)
def hidden_without_key(bench):
    return named("only4", hiding(bench))


@fault("nginx: redirects to https, elsewhere and with a key", "http.redirected", place=NAMESPACE)
def to_https_elsewhere(bench):
    return named("only4", bench.nginx("return 301 https://$host$request_uri;"), "--api-key", "sk-fake")


@fault("nginx: a page that asks for the key, and a wrong one", "credential.refused")
def asked_in_vain(bench):
    return plain(asking(bench), "--api-key", "sk-wrong")


@fault("nginx: no API at the path", "http.wrong-address")
def wrong_path(bench):
    return plain(bench.nginx("return 404;"))


@fault("a server with TLS, with http", "http.needs-tls")
def not_plain(bench):
    return plain(bench.secure_probe())


@fault("nginx: TLS, with http", "http.needs-tls")
def nginx_not_plain(bench):
    return plain(nginx_with_tls(bench))


@fault("a server with TLS that does not know the name, with http", "http.needs-tls")
def alert_to_plain(bench):
    return plain(bench.listener(boxes.alerting(112)))


@fault("Go's words for TLS, with http", "http.needs-tls")
def words_for_tls(bench):
    text = boxes.answer("400 Bad Request", "Client sent an HTTP request to an HTTPS server.\n", "text/plain")
    return plain(bench.listener(boxes.static(text)))


@fault("an API, at another path", "http.wrong-address")
def other_path(bench):
    return Path(f"http://127.0.0.1:{port_of(bench.serve())}/v2", ["--api-key", "sk-fake"])


@fault("a probe server, without the path of its base URL", "http.wrong-address")
def probe_without_path(bench):
    return Path(f"http://127.0.0.1:{bench.probe()}")


@fault("nginx: redirects to https", "http.redirected")
def to_https(bench):
    return plain(bench.nginx("return 301 https://127.0.0.1$request_uri;"))


@fault("a server that is silent", "http.no-answer", "web-socket.no-answer")
def http_silent(bench):
    return plain(bench.listener(boxes.silent))


@fault("a server that holds bodies back", "http.no-answer", "web-socket.not-offered")
def http_held(bench):
    return plain(bench.listener(boxes.holding))


@fault("a server of mail", "http.not-http")
def mail(bench):
    return plain(bench.listener(boxes.banner))


@fault("a server that cuts the request", "http.cut", "web-socket.cut")
def http_cut(bench):
    return plain(bench.listener(lambda connection: boxes.read_head(connection)))


@fault("a key that is not accepted", "credential.refused")
def wrong_key(bench):
    return Path(bench.serve("--guard"), ["--api-key", "sk-wrong"])


@fault("a key with quotation marks, at a server that takes any", "credential.unusual-form", verdict=WORKS)
def quoted_key(bench):
    return Path(bench.serve(), ["--api-key", '"sk-fake"'])


@fault("a key with a space behind it, which is not accepted", "credential.refused")
def key_with_space(bench):
    return Path(bench.serve("--guard"), ["--api-key", "sk-wrong "])


# MARK: WebSocket

@fault("426 to the upgrade", "web-socket.not-offered", verdict=DEGRADED)
def upgrade_426(bench):
    return plain(bench.listener(boxes.api(boxes.refused("426 Upgrade Required", fields=["Upgrade: h2c"]))))


@fault("nginx: removes the upgrade", "web-socket.not-offered", verdict=DEGRADED)
def upgrade_removed(bench):
    return plain(bench.nginx(f"proxy_pass http://127.0.0.1:{bench.probe()}; proxy_buffering off;"))


@fault("a middle box that blocks the upgrade", "web-socket.blocked", verdict=DEGRADED)
def upgrade_blocked(bench):
    text = boxes.answer("403 Forbidden", "<!DOCTYPE html><html>Blocked: WebSockets</html>", "text/html")
    box = boxes.middle(bench.probe(), refusal=lambda head: text if boxes.is_upgrade(head) else None)
    return plain(bench.listener(box))


@fault("a server that refuses the upgrade itself", "web-socket.refused", verdict=DEGRADED)
def upgrade_refused(bench):
    return plain(bench.listener(boxes.api(boxes.refused("400 Bad Request", "Bad Request", "text/html"))))


@fault("a server that refuses every upgrade with 403", "web-socket.refused", verdict=DEGRADED)
def upgrade_403(bench):
    box = posted(boxes.refused("403 Forbidden", "", "text/plain"), "400 Bad Request")
    return plain(bench.listener(box), "--api-key", "sk-fake")


@fault("nginx: a page at the path of WebSockets", "web-socket.not-offered", verdict=DEGRADED)
def upgrade_page(bench):
    return plain(bench.nginx("if ($uri = /v1/responses) { return 404; } "
                             f"proxy_pass http://127.0.0.1:{bench.probe()}; proxy_buffering off; {UPGRADE}"))


@fault("a middle box that alters the handshake", "web-socket.altered", verdict=DEGRADED)
def upgrade_altered(bench):
    return plain(bench.listener(boxes.api(boxes.altered)))


@fault("an upgrade that is not answered", "web-socket.no-answer", verdict=DEGRADED)
def upgrade_silent(bench):
    return plain(bench.listener(boxes.api(boxes.unanswered)))


@fault("a reset at the upgrade", "web-socket.cut", verdict=DEGRADED)
def upgrade_cut(bench):
    return plain(bench.listener(boxes.api(boxes.cut)))


@fault("1011 after 101", "early-close.closed", verdict=DEGRADED)
def closed_1011(bench):
    return plain(bench.listener(boxes.api(boxes.closed_early(1011))))


@fault("1008 two seconds after 101", "early-close.closed", verdict=DEGRADED)
def closed_1008(bench):
    return plain(bench.listener(boxes.api(boxes.closed_late(1008, 2))))


@fault("a middle box that cuts compressed messages", "compression.broken", verdict=DEGRADED)
def compression_cut(bench):
    return plain(bench.listener(boxes.middle(bench.probe(), filters=boxes.cut_compressed)))


@fault("a middle box that unmarks compressed messages", "compression.broken", verdict=DEGRADED)
def compression_unmarked(bench):
    return plain(bench.listener(boxes.middle(bench.probe(), filters=boxes.clear_compressed)))


@fault("a middle box that hides the agreement on compression", "compression.broken", verdict=DEGRADED)
def compression_hidden(bench):
    return plain(bench.listener(boxes.middle(bench.probe(), response=boxes.without_extension)))


@fault("a reset in a large message", "messages.large", verdict=DEGRADED)
def large_messages(bench):
    url = bench.serve("--upstream", f"http://127.0.0.1:{bench.probe()}", "--fault", "reset@400000:to-server")
    return plain(port_of(url))


@fault("a stall in a large message", "messages.large", verdict=DEGRADED)
def stalled_messages(bench):
    url = bench.serve("--upstream", f"http://127.0.0.1:{bench.probe()}", "--fault", "stall@400000:to-server")
    return plain(port_of(url))


@fault("pings that are not answered", "pings.unanswered", verdict=DEGRADED)
def deaf(bench):
    return plain(bench.listener(boxes.api(boxes.deaf)))


@fault("600 ms in each direction", "pings.slow", verdict=DEGRADED)
def slow(bench):
    return plain(bench.listener(boxes.delayed(bench.probe(), 0.6)))


# MARK: Event streams and silence


@fault("nginx: buffers", "event-stream.buffered", verdict=DEGRADED)
def nginx_buffers(bench):
    return plain(bench.nginx(f"proxy_pass http://127.0.0.1:{bench.probe()}; {UPGRADE}"))


@fault("mitmproxy: holds bodies until their end", "event-stream.whole", verdict=DEGRADED)
def mitmproxy_holds(bench):
    port = bench.secure_probe()
    return secure(bench, port, *through(bench.mitmproxy()), ca="mitmproxy-ca-cert.pem")


@fault("event streams that are cut", "event-stream.cut", verdict=DEGRADED)
def events_cut(bench):
    return plain(bench.listener(boxes.middle(bench.probe(), filters=boxes.cut_events(4_000))))


@fault("an event stream that stalls", "event-stream.cut", verdict=DEGRADED)
def events_stall(bench):
    return plain(bench.listener(boxes.middle(bench.probe(), filters=boxes.stall_events(2_000))))


@fault("an event stream with the type of a page", "event-stream.altered", verdict=DEGRADED)
def events_page(bench):
    def response(head):
        return head.replace(b"text/event-stream", b"text/html")
    return plain(bench.listener(boxes.middle(bench.probe(), response=response)))


@fault("an event stream without end", "event-stream.altered", verdict=DEGRADED)
def events_flood(bench):
    return plain(bench.listener(boxes.flooding(bench.probe())))


@fault("haproxy: tunnels of 3 s", "idle.cut", verdict=DEGRADED)
def haproxy_tunnel(bench):
    return plain(bench.haproxy(bench.probe(), "3s"), "--hold", "6")


@fault("a gateway's error in the place of a silence", "idle.early-answer", verdict=DEGRADED)
def hold_refused(bench):
    def refusal(head):
        return boxes.answer("502 Bad Gateway", "") if b"/probe/hold" in head.split(b"\r\n")[0] else None
    return plain(bench.listener(boxes.middle(bench.probe(), refusal=refusal)), "--hold", "3")


# MARK: Networks that lose and delay

# These two are of netem's faults what programs can plant: delays, and stalls in the place of losses, which do not exist
# above TCP. With 10 % of all packets lost, one exchange in five stalls.
@fault("300 ms in each direction, and stalls as of 10 % loss", "pings.slow", verdict=DEGRADED)
def stalling(bench):
    return plain(bench.listener(boxes.delayed(bench.probe(), 0.3, stall=(5, 1))))


@healthy("300 ms in each direction")
def healthy_farther(bench):
    return plain(bench.listener(boxes.delayed(bench.probe(), 0.3)))


@fault("netem: 10 % loss and 300 ms", "pings.slow", verdict=DEGRADED, place=NETEM, is_chance=True)
def lossy(bench):
    netem("delay", "300ms", "loss", "10%")
    return plain(bench.probe())


@healthy("netem: 50 ms", place=NETEM)
def far(bench):
    netem("delay", "50ms")
    return plain(bench.probe())


def netem(*words):
    command = [program("tc"), "qdisc", "replace", "dev", "lo", "root", "netem", *words]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise Missing(f"no netem in this kernel ({result.stderr.strip().splitlines()[0]})")
