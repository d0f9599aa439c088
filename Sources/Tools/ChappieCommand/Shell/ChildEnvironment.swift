// The environment of programs that this one starts. Pure.
import TransportSurface

/// Reduces environments to lists of allowed variables, so that no key and no token is passed on, whatever its name.
enum ChildEnvironment {
    private static let names: Set<String> = [
        "COLORTERM", "COLUMNS", "HOME", "LANG", "LANGUAGE", "LINES", "LOGNAME", "NO_COLOR", "PATH", "PWD", "SHELL",
        "SSL_CERT_DIR", "SSL_CERT_FILE", "TERM", "TMPDIR", "TZ", "USER",
    ]
    private static let prefixes = ["LC_", "XDG_"]

    /// The variables by which programs find a graphical session, and its way of opening pages.
    private static let desktopNames: Set<String> = [
        "BROWSER", "DBUS_SESSION_BUS_ADDRESS", "DESKTOP_SESSION", "DISPLAY", "GNOME_DESKTOP_SESSION_ID",
        "KDE_FULL_SESSION", "KDE_SESSION_VERSION", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "WSL_INTEROP", "XAUTHORITY",
    ]
    /// The variables of the proxy for a browser; they may contain the proxy's password, which is their purpose.
    private static let proxyNames: Set<String> = ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"]

    /// Returns the environment for the command of a tool.
    static func forTools(_ environment: [String: String]) -> [String: String] {
        environment.filter { Self.isPlain($0.key) }
    }

    /// Returns the environment for the program that opens a page in the user's browser.
    static func forBrowsers(_ environment: [String: String]) -> [String: String] {
        environment.filter { name, _ in
            Self.isPlain(name) || Self.desktopNames.contains(name) || Self.proxyNames.contains(name.uppercased())
        }
    }

    private static func isPlain(_ name: String) -> Bool {
        // ConsoleKit's XDG_SESSION_COOKIE has an allowed prefix, and authenticates the session.
        !FieldSecrets.isSecret(name)
            && (Self.names.contains(name) || Self.prefixes.contains { name.hasPrefix($0) })
    }
}
