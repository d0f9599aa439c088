// The arguments and environment of `chappie doctor` as the engine's configuration.
import ChappieDiagnosis
import ChappieTransport

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The path to examine, and the form of the result.
struct DoctorOptions {
    /// The form of the result.
    enum Form: Equatable {
        /// Text for a person.
        case text
        /// A JSON object.
        case json
        /// The settings that fit.
        case suggestion
    }

    /// The configuration of the engine.
    let configuration: ChappieTransportConfiguration
    /// The extent of the examination.
    let extent: ChappieDiagnosis.Extent
    /// The silences for which connections are held idle.
    let holds: [Duration]
    /// The form of the result.
    let form: Form
    /// Indicates whether names and addresses of machines are printed.
    let isFull: Bool
    /// The examined server as it was typed, without user information, path and query; otherwise where its address is from.
    let subject: String

    /// Reads the arguments and the environment.
    init(_ arguments: ParsedArguments, environment: [String: String]) throws(UsageError) {
        if arguments.has("json"), arguments.has("suggest") {
            throw UsageError("--json and --suggest exclude each other")
        }
        let names = ["CHAPPIE_API_KEY", "OPENAI_API_KEY"]
        let key = arguments.text("api-key") ?? names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        let variable = environment["CHAPPIE_BASE_URL"].flatMap { $0.isEmpty ? nil : $0 }
        let url = try BaseURL.read(arguments.operands.first ?? variable ?? BaseURL.byDefault)
        let credential = key.map { ChappieCredential(bearerToken: $0) }
        var configuration = ChappieTransportConfiguration(baseURL: url) { _ in credential }
        if let path = arguments.text("ca-file") { configuration.tls.trust = .file(path: path) }
        if let proxy = arguments.text("proxy") { configuration.proxy = .url(proxy) }
        self.configuration = configuration
        self.holds = try Self.holds(arguments.text("hold"))
        self.extent = arguments.has("fast") ? .fast : .whole
        self.form = arguments.has("json") ? .json : arguments.has("suggest") ? .suggestion : .text
        self.isFull = arguments.has("full")
        let isTyped = arguments.operands.first != nil || variable == nil || self.isFull
        self.subject = isTyped ? Self.origin(of: url) : "the server of CHAPPIE_BASE_URL"
    }

    private static func holds(_ text: String?) throws(UsageError) -> [Duration] {
        guard let text else { return [] }
        let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
        let holds = numbers.compactMap { $0.flatMap { (1...600).contains($0) ? Duration.seconds($0) : nil } }
        guard holds.count == numbers.count, holds.count <= 8 else {
            throw UsageError(
                "option --hold needs up to 8 numbers from 1 to 600 with commas between them, not '\(text)'")
        }
        return holds
    }

    private static func origin(of url: URL) -> String {
        let port = url.port.map { ":\($0)" } ?? ""
        return "\(url.scheme?.lowercased() ?? "")://\(url.host() ?? "")\(port)"
    }
}
