"""The test bed of a case: programs, certificates, ports; everything ends with the case."""

import contextlib
import dataclasses
import os
import pathlib
import shutil
import socket
import subprocess
import threading
import time

import boxes

HERE = pathlib.Path(__file__).resolve().parent
INTEROPERABILITY = HERE.parent / "Interoperability"
SEARCHED = os.environ["PATH"] + ":/usr/sbin:/sbin"
START = 30  # seconds until a program has to listen

ports = set()
ports_lock = threading.Lock()


class Missing(Exception):
    """Something that a case needs is not here; the words say what."""


@dataclasses.dataclass
class Path:
    """The examined path: URL, options, variables of the environment, and words before the command."""
    url: str
    options: list = dataclasses.field(default_factory=list)
    environment: dict = dataclasses.field(default_factory=dict)
    prefix: list = dataclasses.field(default_factory=list)


def free_port():
    """Returns a port that is free for both families, and is not given to another case."""
    while True:
        with socket.socket(socket.AF_INET6) as probe:
            probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            probe.bind(("::", 0))
            port = probe.getsockname()[1]
        with ports_lock:
            if port not in ports:
                ports.add(port)
                return port


def program(name):
    found = shutil.which(name, path=SEARCHED)
    if not found:
        raise Missing(f"no {name} here")
    return found


class Bench:
    """The folder and the programs of one case."""

    def __init__(self, chappie, mitmdump, folder, stack):
        self.chappie, self.mitmdump, self.folder, self.stack = chappie, mitmdump, folder, stack

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    # MARK: Processes

    def start(self, name, command, environment=None, output=None):
        """Starts a program, which ends with the case."""
        with open(self.path(name + ".out"), "wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output or log, stderr=log,
                                       cwd=self.folder, env=environment or {**os.environ, "PATH": SEARCHED})
        self.stack.callback(self.stop, process)
        return process

    @staticmethod
    def stop(process):
        process.terminate()
        try:
            process.wait(3)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def listen(self, name, command, port, environment=None):
        """Starts a program, and waits until it listens."""
        process = self.start(name, command, environment)
        end = time.monotonic() + START
        while time.monotonic() < end and process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return process
            time.sleep(0.05)
        with open(self.path(name + ".out"), errors="replace") as log:
            raise RuntimeError(f"{name} does not listen: {log.read()[-400:]}")

    def serve(self, *options, name="serve"):
        """Starts `chappie serve`; returns its base URL."""
        process = self.start(name, [self.chappie, "serve", *options], environment(), subprocess.PIPE)
        self.stack.callback(process.stdout.close)
        words = process.stdout.readline().decode().split()
        if not words:
            raise RuntimeError(f"chappie serve {' '.join(options)} did not start")
        return words[-1]

    def probe(self, *options):
        """Starts a probe server; returns its port."""
        return port_of(self.serve("--probe", *options, name="probe"))

    def secure_probe(self):
        """Starts a probe server with TLS, whose authority is in ca.pem; returns its port."""
        return self.probe("--tls", "--ca-out", self.path("ca.pem"))

    def listener(self, serve, **options):
        """Starts a server of `boxes`; returns its port."""
        made = boxes.Listener(serve, **options)
        self.stack.callback(made.close)
        return made.port

    def black_hole(self, **options):
        made = boxes.BlackHole(**options)
        self.stack.callback(made.close)
        return made.port

    # MARK: Certificates

    def openssl(self, *words, before=()):
        subprocess.run([*before, "openssl", *words], cwd=self.folder, check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=30)

    def certificate(self, name="IP:127.0.0.1", subject="/CN=server", moved=None, intermediate=None,
                    authority="Doctor Faults Intermediate"):
        """Makes server.pem, server.key and both.pem, signed by ca.pem; `moved` is the time of faketime, such as -9d.

        An `intermediate` authority, named `authority`, signs it in the place of ca.pem: its certificate is in both.pem
        ("sent" or "expired"), or not ("missing").
        """
        before = [program("faketime"), "-f", moved] if moved else []
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        self.openssl("req", "-x509", *curve, "-days", "30", "-subj", "/CN=Doctor Faults", "-keyout", "ca.key", "-out",
                     "ca.pem", before=[program("faketime"), "-f", "-15d"] if moved else [])
        self.openssl("req", *curve, "-subj", subject, "-keyout", "server.key", "-out", "server.csr")
        self.write("extensions", f"subjectAltName={name}\n")
        issuer = "ca"
        if intermediate:
            issuer = "intermediate"
            self.intermediate(authority, is_expired=intermediate == "expired")
            self.write("extensions", f"subjectAltName={name}\n"
                       "authorityInfoAccess=caIssuers;URI:http://ca.test/intermediate.cer\n")
        self.openssl("x509", "-req", "-in", "server.csr", "-CA", issuer + ".pem", "-CAkey", issuer + ".key",
                     "-CAcreateserial", "-days", "2", "-extfile", "extensions", "-out", "server.pem", before=before)
        sent = [] if intermediate in (None, "missing") else ["intermediate.pem"]
        with open(self.path("both.pem"), "w") as both:
            for part in ("server.pem", *sent, "server.key"):
                with open(self.path(part)) as file:
                    both.write(file.read())
        os.chmod(self.path("server.key"), 0o644)

    def intermediate(self, authority, is_expired):
        """Makes intermediate.pem and intermediate.key, signed by ca.pem for two days, or for two days that are over."""
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                     f"/CN={authority}", "-keyout", "intermediate.key", "-out", "intermediate.csr")
        self.write("authority", "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n")
        self.openssl("x509", "-req", "-in", "intermediate.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                     "-days", "2", "-extfile", "authority", "-out", "intermediate.pem",
                     before=[program("faketime"), "-f", "-9d"] if is_expired else [])

    # MARK: Programs of others

    def squid(self, listen="http_port 127.0.0.1:@PORT@", change=("", "")):
        """Starts squid, which wants the login alice:secret unless the configuration is changed; returns its port."""
        if os.geteuid() == 0 and pathlib.Path("/proc/self/uid_map").read_text().split()[2] == "1":
            raise Missing("squid takes another user's rights, and there is root alone in a namespace of users")
        port = free_port()
        line = subprocess.run(["openssl", "passwd", "-apr1", "secret"], capture_output=True, text=True, check=True)
        self.write("passwords", f"alice:{line.stdout}")
        text = (INTEROPERABILITY / "squid.conf").read_text().replace("@LISTEN@", listen.replace("@PORT@", str(port)))
        # As root, squid takes another user's rights.
        os.chmod(self.folder, 0o777)
        text = text.replace("@FOLDER@", self.folder).replace(*change)
        self.listen("squid", [program("squid"), "-N", "-f", self.write("squid.conf", text)], port)
        return port

    def open_squid(self, **options):
        """Starts squid without a login."""
        return self.squid(change=("acl known proxy_auth REQUIRED", "acl known src 127.0.0.0/8"), **options)

    def tinyproxy(self, *lines):
        port = free_port()
        text = "\n".join([f"Port {port}", "Listen 127.0.0.1", "Timeout 60", *lines]) + "\n"
        self.listen("tinyproxy", [program("tinyproxy"), "-d", "-c", self.write("tinyproxy.conf", text)], port)
        return port

    def dante(self, method="none"):
        """Starts dante, whose rules forbid port 9; returns its port."""
        port = free_port()
        text = (INTEROPERABILITY / "danted.conf").read_text()
        text = text.replace("@PORT@", str(port)).replace("@METHOD@", method).replace("@USER@", "root")
        command = [program("danted"), "-p", self.path("danted.pid"), "-f", self.write("danted.conf", text)]
        self.listen("danted", command, port)
        return port

    def nginx(self, location, more=""):
        """Starts nginx with the content of a location; returns its port."""
        port = free_port()
        text = (HERE / "nginx.conf").read_text()
        text = text.replace("@PORT@", str(port)).replace("@LOCATION@", location).replace("@MORE@", more)
        command = [program("nginx"), "-p", self.folder, "-e", "stderr", "-c",
                   self.write("nginx.conf", text.replace("@FOLDER@", self.folder))]
        self.listen("nginx", command, port)
        return port

    def haproxy(self, target, tunnel):
        """Starts haproxy in front of a server, with a time limit of tunnels; returns its port."""
        port = free_port()
        text = (HERE / "haproxy.cfg").read_text()
        text = text.replace("@PORT@", str(port)).replace("@TARGET@", str(target)).replace("@TUNNEL@", tunnel)
        self.listen("haproxy", [program("haproxy"), "-db", "-f", self.write("haproxy.cfg", text)], port)
        return port

    def mitmproxy(self, *options):
        """Starts mitmproxy as a proxy that inspects TLS, its authority in mitmproxy-ca-cert.pem; returns its port."""
        if not self.mitmdump:
            raise Missing("no mitmdump here")
        port = free_port()
        command = [self.mitmdump, "--quiet", "--set", f"confdir={self.folder}", "--listen-host", "127.0.0.1",
                   "--listen-port", str(port), "--set", "ssl_insecure=true", *options]
        self.listen("mitmproxy", command, port)
        return port


def port_of(url):
    return int(url.split("/")[2].rsplit(":", 1)[1])


def environment(**more):
    """Returns the variables of a command: none that says anything about the path."""
    kept = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH")
    return {**{name: os.environ[name] for name in kept if name in os.environ}, "SWIFT_BACKTRACE": "enable=no", **more}
