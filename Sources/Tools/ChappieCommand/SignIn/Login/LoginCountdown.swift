// The remaining seconds of a wait, on a terminal.

/// Shows the remaining lifetime of a code, in one place, once a second.
struct LoginCountdown {
    /// The console for the output.
    let console: Console
    /// The number of columns.
    let width: Int
    /// The initial lifetime.
    let lifetime: Duration

    /// Runs `body`, and shows the seconds meanwhile; the line is erased afterwards.
    func run<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        let ticker = Task { await self.tick() }
        do {
            let value = try await body()
            await Self.end(ticker)
            return value
        } catch {
            await Self.end(ticker)
            throw error
        }
    }

    private static func end(_ ticker: Task<Void, Never>) async {
        ticker.cancel()
        await ticker.value
    }

    private func tick() async {
        var line = LiveLine(width: self.width)
        let clock = ContinuousClock()
        let end = clock.now + self.lifetime
        while !Task.isCancelled {
            let remaining = clock.now.duration(to: end)
            try? self.console.errorOutput.write(line.showing(Self.words(remaining: remaining)))
            // The next whole second, or the end of the task.
            let part = remaining - .seconds(remaining.components.seconds)
            try? await clock.sleep(for: part > .zero ? part : .seconds(1))
        }
        try? self.console.errorOutput.write(line.erased())
    }

    /// Returns the text of the line.
    static func words(remaining: Duration) -> String {
        guard remaining > .zero else { return "Waiting for the server's last word." }
        // A second that has begun is shown: the code is valid until 0.
        let whole = remaining.components.seconds + (remaining.components.attoseconds > 0 ? 1 : 0)
        return "Waiting: \(TimeText.length(seconds: Int(whole))) left, Ctrl-C cancels."
    }
}
