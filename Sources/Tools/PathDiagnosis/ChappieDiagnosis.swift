/// The examination of the path to a server: which layer fails, the causes, and what to set.
///
/// A namespace. It costs no tokens: no request asks a model.
public enum ChappieDiagnosis {
    /// A step of an examination, in the order of the layers.
    ///
    /// A minor version may add cases.
    public enum Step: String, Sendable, CaseIterable {
        /// The process and its settings: proxies, trust anchors, the clock, descriptors.
        case environment
        /// The look-up of the addresses of the server, or of the proxy.
        case resolve
        /// TCP with the server, or with the proxy, for each address family alone and for both (RFC 8305).
        case connect
        /// The proxy's tunnel.
        case proxy
        /// The TLS handshake and the verification of the certificate.
        case tls
        /// The answer to a GET of `/models`, without a credential.
        case http
        /// The same with the credential.
        case credential
        /// The opening handshake of a WebSocket.
        case webSocket
        /// permessage-deflate (RFC 7692).
        case compression
        /// The first 250 ms after the handshake, in which some intermediaries close the WebSocket.
        case earlyClose
        /// Messages of 63 KiB and of 1 MiB, to the server and back.
        case messages
        /// Pings and the times of their answers.
        case pings
        /// A stream of server-sent events over HTTP, and whether its events arrive at the pace at which they are sent.
        case eventStream
        /// Connections that are idle for asked times.
        case idle
    }

    /// The outcome of a step.
    public enum Outcome: String, Sendable, CaseIterable {
        /// The step works.
        case ok
        /// The step works, with a defect.
        case degraded
        /// The step does not work.
        case failed
        /// The step was not examined; `StepResult.words` has the reason.
        case skipped
    }

    /// The verdict on the path as a whole.
    public enum Verdict: String, Sendable, CaseIterable {
        /// Everything that was examined works.
        case works
        /// Turns are possible, with a defect, or over one transport only, or it could not be examined whether they are.
        case degraded
        /// No turn is possible.
        case fails
    }

    /// The result of an examination.
    ///
    /// Its texts are fixed sentences, numbers, and the name of a certificate's authority. They hold no secret, and no
    /// name or address of a machine except in `StepResult.fullWords`.
    public struct Report: Sendable, Equatable {
        /// The verdict on the path as a whole.
        public let verdict: Verdict
        /// The verdict in one sentence.
        public let sentence: String
        /// The likely causes, the most likely one first; at most three.
        ///
        /// When everything works there are none but remarks, such as one about the server's clock.
        public let causes: [Cause]
        /// Every step, in the order of `Step`.
        public let steps: [StepResult]
        /// The settings that fit the path.
        public let advice: Advice

        /// Returns the result of a step.
        public func result(of step: Step) -> StepResult? { self.steps.first { $0.step == step } }
    }

    /// The result of one step.
    public struct StepResult: Sendable, Equatable {
        /// The step.
        public let step: Step
        /// The outcome.
        public let outcome: Outcome
        /// The measured facts, or the reason why the step was skipped, in a few words.
        public let words: String
        /// Facts with names and addresses of machines, for a person that helps; empty where there are none.
        ///
        /// They hold no secret.
        public let fullWords: [String]
        /// The time from the beginning of the examination to that of the step; nil when it was skipped.
        public let start: Duration?
        /// The time that the step took; nil when it was skipped.
        public let duration: Duration?
    }

    /// A cause of a failure or a defect.
    public struct Cause: Sendable, Equatable {
        /// The stable name, such as `tls.inspected`; the documentation lists all of them.
        public let name: String
        /// The layer that is at fault.
        public let step: Step
        /// The cause, in a sentence.
        public let sentence: String
        /// The facts from which it follows.
        public let evidence: [String]
        /// Remedies, each in a sentence, the most likely one first.
        public let remedies: [String]
    }

    /// The settings that fit a path, as data.
    ///
    /// It sets no option: a program, or a person, does that.
    public struct Advice: Sendable, Equatable {
        /// Indicates whether turns should use HTTP only (`--http-only`).
        public internal(set) var usesHTTPOnly = false
        /// Indicates whether compression should not be offered (`ChappieTransportConfiguration.offersCompression`).
        public internal(set) var disablesCompression = false
        /// The silence after which pings should be sent (`ChappieTimeouts.pingInterval`); nil for the default.
        public internal(set) var pingInterval: Duration?
        /// The environment variables that should be set, or corrected, in the order of the causes.
        public internal(set) var variables: [String] = []

        /// Indicates whether the defaults fit.
        public var isEmpty: Bool { self == Self() }
    }
}
