// Opens a page in the user's browser, without a shell.
import PlatformC

/// Starts the program that opens pages.
struct BrowserOpener {
    /// The program, by name; nil where no browser could be seen.
    let program: String?
    private let environment: [String: String]

    /// Chooses the program: macOS's `open`, and elsewhere `xdg-open` where there is a display.
    init(environment: [String: String]) {
        self.environment = ChildEnvironment.forBrowsers(environment)
        #if canImport(Darwin)
            self.program = "open"
        #else
            let hasDisplay = ["DISPLAY", "WAYLAND_DISPLAY"].contains { !(environment[$0] ?? "").isEmpty }
            self.program = hasDisplay ? "xdg-open" : nil
        #endif
    }

    /// Starts it; returns false when it cannot be started.
    ///
    /// The page is its only argument, which every user of the machine can read while it runs.
    func open(_ page: String) -> Bool {
        guard let program = self.program else { return false }
        let nowhere = unsafe PlatformC.open("/dev/null", O_RDWR | O_CLOEXEC)
        guard nowhere >= 0 else { return false }
        defer { _ = close(nowhere) }
        var start = ProgramStart([program, page], environment: self.environment)
        (start.input, start.output, start.errorOutput) = (nowhere, nowhere, nowhere)
        // Its end is not awaited: it may be the browser itself, which keeps running.
        return (try? start.run()) != nil
    }
}
