// The caller's credentials: some expire, some cannot be replaced, and some sources throw.

import ChappieTransport

/// The error of a caller's source of credentials.
struct SimulatedCredentialError: Error {}

/// Gives credentials.
struct SimulatedCredentials {
    /// The outcome of one request for a credential.
    struct Outcome {
        var facts: [SimulatedFact] = []
        var error: SimulatedCredentialError?
    }

    private enum Habit: CaseIterable {
        case none, constant, replaceable, expiring, unreliable
    }

    private let habit: Habit
    private(set) var version = 0

    init(_ random: inout SimulatedRandom) {
        self.habit = random.pick([.none, .constant, .constant, .replaceable, .replaceable, .expiring, .unreliable])
    }

    /// The credential, if there is one.
    var current: ChappieCredential? {
        self.habit == .none ? nil : ChappieCredential(bearerToken: "token-\(self.version)", accountID: "account")
    }

    /// Answers the engine.
    mutating func answer(
        _ request: ChappieTransportConfiguration.CredentialRequest, _ random: inout SimulatedRandom
    ) -> Outcome {
        var outcome = Outcome()
        switch (self.habit, request) {
        case (.unreliable, _) where random.chance(25):
            outcome.error = SimulatedCredentialError()
            outcome.facts.append(.credentialThrows)
        case (.expiring, .connecting) where random.chance(50):
            self.version += 1
            outcome.facts.append(.credentialChanged)
        case (.replaceable, .rejected), (.expiring, .rejected), (.unreliable, .rejected):
            self.version += 1
            outcome.facts.append(.credentialReplaced)
        case (_, .rejected):
            outcome.facts.append(.credentialSame)
        case (_, .connecting):
            break
        }
        return outcome
    }
}
