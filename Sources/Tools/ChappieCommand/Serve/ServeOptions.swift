// The arguments of `chappie serve` as the configurations of the server and of the proxy.
import ChappieTestServer

/// The configuration of a server, from a command line.
struct ServeOptions {
    /// The server's configuration; its port is the one that clients connect to.
    let configuration: ChappieTestServer.Configuration
    /// The server to relay to; nil is the test server.
    let upstream: ServeUpstream?
    /// The faults of the proxy; nil when none is asked for.
    let plan: FaultProxy.Plan?

    /// The options of the test server, which have no meaning for another one.
    private static let serverOptions = [
        "recording", "text", "rate", "compress", "tls", "ca-out", "pending", "token-lifetime", "guard",
    ]
    /// The longest lifetime of an access token: a year, in seconds.
    private static let longestLifetime = 31_536_000

    /// Reads the arguments, and the files that they name.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        if arguments.has("ca-out"), !arguments.has("tls") { throw UsageError("option --ca-out needs --tls") }
        self.upstream = try arguments.text("upstream").map { text throws(UsageError) in try ServeUpstream(text) }
        self.configuration = try Self.configuration(arguments, hasUpstream: self.upstream != nil)
        self.plan = try Self.plan(arguments, hasUpstream: self.upstream != nil)
    }

    private static func configuration(
        _ arguments: ParsedArguments, hasUpstream: Bool
    ) throws(UsageError) -> ChappieTestServer.Configuration {
        if hasUpstream, let option = Self.serverOptions.first(where: arguments.has) {
            throw UsageError("option --\(option) is for the test server, not for --upstream")
        }
        var configuration = ChappieTestServer.Configuration()
        if let scenario = arguments.text("scenario"), !hasUpstream {
            configuration = .init(scenario: try Self.scenario(scenario))
        }
        configuration.port = try UInt16(arguments.integer("port", in: 0...65_535) ?? 0)
        if let rate = try arguments.positiveNumber("rate") { configuration.eventsPerSecond = rate }
        if arguments.has("tls") { configuration.tls = .init() }
        if arguments.has("compress") {
            configuration.messageCompression = .deflate(.init())
            configuration.contentCoding = .gzip
        }
        configuration.signIn = try Self.signIn(arguments)
        if let model = try Self.model(arguments) { configuration.model = model }
        return configuration
    }

    /// Returns the source of responses that the command line names; nil for that of the scenario.
    private static func model(
        _ arguments: ParsedArguments
    ) throws(UsageError) -> ChappieTestServer.Model? {
        let recordings = arguments.texts("recording")
        if let path = arguments.text("text") {
            guard recordings.isEmpty else { throw UsageError("options --text and --recording exclude each other") }
            return .text(String(decoding: try DescriptorReader.bytes(ofFile: path), as: UTF8.self))
        }
        guard !recordings.isEmpty else { return nil }
        var contents: [[String]] = []
        for path in recordings { contents.append(try Self.recording(path)) }
        return .recordings(contents)
    }

    /// Returns the configuration of sign-ins.
    private static func signIn(_ arguments: ParsedArguments) throws(UsageError) -> ChappieTestServer.SignIn {
        var signIn = ChappieTestServer.SignIn()
        if arguments.text("pending") == "page" {
            signIn.pendingPollCount = nil
            signIn.approvesBrowsers = false
        } else if let text = arguments.text("pending") {
            guard let count = Int(text), count >= 0 else {
                throw UsageError("option --pending needs a whole number of at least 0, or 'page', not '\(text)'")
            }
            signIn.pendingPollCount = count
        }
        if let lifetime = try arguments.integer("token-lifetime", in: 0...Self.longestLifetime) {
            signIn.accessTokenLifetime = lifetime
        }
        signIn.guardsRequests = arguments.has("guard")
        return signIn
    }

    /// Returns the faults of the scenario's file, then those of the command line.
    private static func plan(_ arguments: ParsedArguments, hasUpstream: Bool) throws(UsageError) -> FaultProxy.Plan? {
        var plan: FaultProxy.Plan?
        if let scenario = arguments.text("scenario") { plan = try Self.plan(ofScenario: scenario) }
        if hasUpstream, plan == nil, let scenario = arguments.text("scenario") {
            throw UsageError("\(scenario) says nothing about a proxy; --upstream needs a file with a 'proxy' member")
        }
        let words = arguments.texts("fault")
        if !words.isEmpty || hasUpstream { plan = plan ?? FaultProxy.Plan() }
        for word in words { plan?.faults.append(try ServeFault(word).fault) }
        return plan
    }

    private static func plan(ofScenario name: String) throws(UsageError) -> FaultProxy.Plan? {
        guard ChappieTestServer.builtInScenario(named: name) == nil else { return nil }
        let text = String(decoding: try DescriptorReader.bytes(ofFile: name), as: UTF8.self)
        do throws(FormError) {
            // With --upstream the proxy's part of a scenario suffices.
            try ChappieTestServer.Scenario.checkForm(of: text, isWhole: false)
            return try FaultProxy.Plan(scenarioText: text)
        } catch {
            throw UsageError("\(name) is not a scenario: \(error)")
        }
    }

    private static func scenario(_ name: String) throws(UsageError) -> ChappieTestServer.Scenario {
        if let scenario = ChappieTestServer.builtInScenario(named: name) { return scenario }
        let isFile = name.contains("/") || name.hasSuffix(".json")
        let names = ChappieTestServer.builtInScenarios.map(\.name)
        let bytes: [UInt8]
        do throws(UsageError) {
            bytes = try DescriptorReader.bytes(ofFile: name)
        } catch {
            guard !isFile, let nearest = EditDistance.nearest(to: name, among: names) else { throw error }
            throw UsageError("there is no scenario and no file \(name); did you mean \(nearest)?")
        }
        do {
            return try ChappieTestServer.Scenario(jsonText: String(decoding: bytes, as: UTF8.self))
        } catch let error as FormError {
            throw UsageError("\(name) is not a scenario: \(error)")
        } catch let error as DecodingError {
            throw UsageError("\(name) is not a scenario: \(error.place)")
        } catch {
            throw UsageError("\(name) is not a scenario")
        }
    }

    private static func recording(_ path: String) throws(UsageError) -> [String] {
        let text = String(decoding: try DescriptorReader.bytes(ofFile: path), as: UTF8.self)
        let lines = text.split { $0.isNewline }.map(String.init)
        guard !lines.isEmpty else { throw UsageError("\(path) has no events") }
        for (index, line) in lines.enumerated() where !(line.hasPrefix("{") && line.hasSuffix("}")) {
            throw UsageError("\(path) has something other than a JSON object in line \(index + 1)")
        }
        return lines
    }
}

extension DecodingError {
    /// The place and the description of an error in a JSON text.
    fileprivate var place: String {
        let context: Context
        var fault: String?
        switch self {
        case .keyNotFound(let key, let found):
            context = found
            fault = "the member '\(key.stringValue)' is missing"
        case .typeMismatch(_, let found), .valueNotFound(_, let found), .dataCorrupted(let found): context = found
        @unknown default: return "it cannot be decoded"
        }
        let path = context.codingPath.map(\.stringValue).joined(separator: ".")
        return (path.isEmpty ? "" : "\(path): ") + (fault ?? context.debugDescription)
    }
}
