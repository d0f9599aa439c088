import ChappieTransport
import PlatformFoundation
import TransportSurface

/// Finds a port to listen on, and asks a leftover instance of the program to release it.
struct CallbackPort: Sendable {
    /// The number of attempts for one port.
    private static let tryCount = 10
    /// The pause between two attempts, and the time limit for the other instance's answer.
    private static let pause: Duration = .milliseconds(200)

    private let ports: [UInt16]
    private let clock: ClientClock

    /// The ports in the order in which they are tried.
    init(_ ports: [UInt16], clock: ClientClock) {
        self.ports = ports
        self.clock = clock
    }

    /// Listens on the first free port; throws `unknown` when none is free, and `cancelledSignIn`.
    func listen(state: String) async throws(ChappieAuthError) -> CallbackListener {
        for port in self.ports {
            for count in 0...Self.tryCount {
                do throws(CallbackListener.Failure) {
                    return try CallbackListener(port: port, state: state)
                } catch .portInUse where count < Self.tryCount {
                    try await self.askToLeave(port)
                } catch {
                    break
                }
            }
        }
        let names = self.ports.map { String($0) }.joined(separator: ", ")
        throw .unknown(
            "No port of 127.0.0.1 is free for the browser's return; tried: \(names.isEmpty ? "none" : names).")
    }

    private func askToLeave(_ port: UInt16) async throws(ChappieAuthError) {
        do {
            try await self.cancelOther(port)
            try await self.clock.sleep(Self.pause)
        } catch {
            throw .cancelledSignIn
        }
    }

    /// Asks the other instance to end; the answer does not matter, because the next attempt shows the result.
    private func cancelOther(_ port: UInt16) async throws {
        guard let url = URL(string: "http://127.0.0.1:\(port)/cancel") else { return }
        var settings = ChappieTransportConfiguration(baseURL: url)
        settings.proxy = .none
        settings.timeouts.connect = Self.pause
        settings.timeouts.firstEvent = Self.pause
        settings.timeouts.total = Self.pause
        settings.limits.eventByteCount = 64 << 10
        do {
            _ = try await ChappieStreamingTransport(configuration: settings).exchange(DocumentRequest(url: url))
        } catch is ChappieClientError {
            // It is not an instance of this program, or has ended already.
        }
    }
}
