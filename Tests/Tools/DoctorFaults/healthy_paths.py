"""The healthy paths of `make doctor-faults`, on which an examination must find no fault."""

import boxes
from bench import Path, free_port, port_of
from cases import NAMESPACE, UPGRADE, asking, healthy, hiding, named, nginx_with_tls, plain, secure, through


@healthy("a probe server")
def healthy_plain(bench):
    return plain(bench.probe())


@healthy("a probe server, fast")
def healthy_fast(bench):
    return plain(bench.probe(), "--fast")


@healthy("a probe server with TLS")
def healthy_tls(bench):
    return secure(bench, bench.secure_probe())


@healthy("nginx with TLS and an intermediate certificate")
def healthy_chain(bench):
    answer = f"proxy_pass http://127.0.0.1:{bench.probe()}; proxy_buffering off; {UPGRADE}"
    return secure(bench, nginx_with_tls(bench, answer, intermediate="sent"))


@healthy("nginx with TLS and a name of two families", place=NAMESPACE)
def healthy_name(bench):
    answer = f"proxy_pass http://127.0.0.1:{bench.probe()}; proxy_buffering off; {UPGRADE}"
    tls = nginx_with_tls(bench, answer, ("127.0.0.1", "[::1]"), name=f"DNS:both.{boxes.Resolver.ZONE}")
    return Path(f"https://both.{boxes.Resolver.ZONE}:{tls}/v1", ["--ca-file", bench.path("ca.pem")])


@healthy("a name of two families, IPv6 refused", place=NAMESPACE)
def healthy_both(bench):
    return named("both", bench.probe())


@healthy("a name of IPv4 alone", place=NAMESPACE)
def healthy_4(bench):
    return named("only4", bench.probe())


@healthy("a name of IPv6 alone", place=NAMESPACE)
def healthy_6(bench):
    return named("only6", bench.probe("--listen", "::1"))


@healthy("a resolver that fails for IPv6 at once", place=NAMESPACE)
def healthy_fails6(bench):
    return named("fails6", bench.probe())


@healthy("an API")
def healthy_api(bench):
    return Path(bench.serve(), ["--api-key", "sk-fake"])


@healthy("an API without a key")
def healthy_api_without_key(bench):
    return Path(bench.serve("--guard"))


@healthy("an API whose JSON has the type of a page")
def healthy_type(bench):
    return plain(bench.listener(boxes.api(boxes.answering, kind="text/html")))


@healthy("nginx: a page that asks for the key")
def healthy_asking(bench):
    return plain(asking(bench), "--api-key", "sk-fake")


@healthy("nginx: 404 without the key")
def healthy_hiding(bench):
    return plain(hiding(bench), "--api-key", "sk-fake")


@healthy("nginx: a page that asks for the key, and none is given")
def healthy_asking_without_key(bench):
    return plain(asking(bench))


@healthy("an API with TLS and compression")
def healthy_api_tls(bench):
    return Path(bench.serve("--compress", "--tls", "--ca-out", bench.path("ca.pem")),
                ["--ca-file", bench.path("ca.pem"), "--api-key", "sk-fake"])


@healthy("squid without a login")
def healthy_squid(bench):
    return plain(bench.probe(), *through(bench.open_squid()))


@healthy("squid with a login, TLS inside")
def healthy_squid_login(bench):
    return secure(bench, bench.secure_probe(), *through(bench.squid(), login="alice:secret"))


@healthy("squid over TLS")
def healthy_squid_https(bench):
    bench.certificate(subject="/CN=squid")
    listen = f"https_port 127.0.0.1:@PORT@ tls-cert={bench.path('server.pem')} tls-key={bench.path('server.key')}"
    proxy = through(bench.open_squid(listen=listen), scheme="https")
    return plain(bench.probe(), *proxy, "--ca-file", bench.path("ca.pem"))


@healthy("tinyproxy with a login")
def healthy_tinyproxy(bench):
    return plain(bench.probe(), *through(bench.tinyproxy("BasicAuth alice secret"), login="alice:secret"))


@healthy("dante")
def healthy_dante(bench):
    return plain(bench.probe(), *through(bench.dante(), scheme="socks5h"))


@healthy("dante with a login, TLS inside", place=NAMESPACE)
def healthy_dante_login(bench):
    proxy = through(bench.dante("username"), scheme="socks5h", login="alice:secret")
    return secure(bench, bench.secure_probe(), *proxy)


@healthy("a proxy that NO_PROXY excepts")
def healthy_excepted(bench):
    return plain(bench.probe(), HTTP_PROXY=f"http://127.0.0.1:{free_port()}", NO_PROXY="127.0.0.1")


@healthy("nginx that does not buffer")
def healthy_nginx(bench):
    return plain(bench.nginx(f"proxy_pass http://127.0.0.1:{bench.probe()}; proxy_buffering off; {UPGRADE}"))


@healthy("haproxy, held for 2 s")
def healthy_haproxy(bench):
    return plain(bench.haproxy(bench.probe(), "60s"), "--hold", "2")


@healthy("mitmproxy, trusted, passing bodies on")
def healthy_mitmproxy(bench):
    port = bench.secure_probe()
    proxy = through(bench.mitmproxy("--set", "stream_large_bodies=1"))
    return secure(bench, port, *proxy, ca="mitmproxy-ca-cert.pem")


@healthy("100 ms in each direction")
def healthy_far(bench):
    return plain(bench.listener(boxes.delayed(bench.probe(), 0.1)))


@healthy("writes of 100 bytes")
def healthy_slices(bench):
    url = bench.serve("--upstream", f"http://127.0.0.1:{bench.probe()}", "--fault", "slice=100")
    return plain(port_of(url))


@healthy("1 MB/s")
def healthy_throttled(bench):
    url = bench.serve("--upstream", f"http://127.0.0.1:{bench.probe()}", "--fault", "throttle=1000000")
    return plain(port_of(url))


@healthy("100 kB/s")
def healthy_slow(bench):
    url = bench.serve("--upstream", f"http://127.0.0.1:{bench.probe()}", "--fault", "throttle=100000")
    return plain(port_of(url))


@healthy("a Date that is a minute old")
def healthy_date(bench):
    return plain(bench.listener(boxes.api(boxes.answering, date=-60)))
