// The seconds that are left, on a terminal, while something else is waited for.

/// Shows how long a code is good for, in one place, once a second.
struct LoginCountdown {
    /// Where it is shown.
    let console: Console
    /// How many columns there are.
    let width: Int
    /// From when it counts.
    let lifetime: Duration

    /// Does something, and shows the seconds meanwhile; what it wrote is gone afterwards.
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

    /// What the line says.
    static func words(remaining: Duration) -> String {
        guard remaining > .zero else { return "Waiting for the server's last word." }
        // A second that has begun is shown: the code is good until 0.
        let whole = remaining.components.seconds + (remaining.components.attoseconds > 0 ? 1 : 0)
        return "Waiting: \(TimeText.length(seconds: Int(whole))) left, Ctrl-C cancels."
    }
}
