// The environment of programs that the command starts.
import Testing

@testable import ChappieCommand

@Suite struct ChildEnvironmentTests {
    private static let plain = [
        "PATH": "/bin", "HOME": "/home/a", "LANG": "C", "LC_ALL": "C", "LC_TIME": "C", "TERM": "xterm",
        "TMPDIR": "/tmp", "USER": "a", "LOGNAME": "a", "SHELL": "/bin/sh", "TZ": "UTC", "PWD": "/", "COLUMNS": "80",
        "LINES": "24",
        "NO_COLOR": "1", "XDG_CONFIG_HOME": "/home/a/.config", "SSL_CERT_FILE": "/etc/ssl/ca.pem", "LANGUAGE": "en",
    ]
    private static let secret = [
        "CHAPPIE_API_KEY": "k", "OPENAI_API_KEY": "k", "CHAPPIE_CLIENT_ID": "c", "CHAPPIE_HOME": "/", "AWS_SECRET": "k",
        "GITHUB_TOKEN": "k", "SSH_AUTH_SOCK": "/tmp/s", "PASSWORD": "k", "ANYTHING": "k", "PATH_TO_KEY": "k", "": "k",
        "LD_PRELOAD": "x.so", "lc_all": "C", "XDG_SESSION_COOKIE": "k", "LC_API_KEY": "k", "XDG_CREDENTIALS_DIR": "/c",
    ]
    private static let desktop = ["DISPLAY": ":0", "WAYLAND_DISPLAY": "w", "DBUS_SESSION_BUS_ADDRESS": "unix:"]
    private static let proxies = ["HTTPS_PROXY": "http://u:p@h", "http_proxy": "http://u:p@h", "NO_PROXY": "*"]

    private static var everything: [String: String] {
        Self.plain.merging(Self.secret) { $1 }.merging(Self.desktop) { $1 }.merging(Self.proxies) { $1 }
    }

    @Test func toolEnvironmentContainsOnlyListedVariables() {
        #expect(ChildEnvironment.forTools(Self.everything) == Self.plain)
    }

    @Test func browserEnvironmentAlsoContainsDesktopAndProxyVariables() {
        let expected = Self.plain.merging(Self.desktop) { $1 }.merging(Self.proxies) { $1 }
        #expect(ChildEnvironment.forBrowsers(Self.everything) == expected)
    }
}
