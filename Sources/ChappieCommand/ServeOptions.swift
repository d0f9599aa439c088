// The arguments of `chappie serve` as the server's configuration.
import ChappieTestServer

/// What a server is told, from a command line.
struct ServeOptions {
    /// The server's configuration.
    let configuration: ChappieTestServer.Configuration

    /// Reads the arguments, and the files that they name.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        var configuration = ChappieTestServer.Configuration()
        if let scenario = arguments.text("scenario") { configuration = .init(scenario: try Self.scenario(scenario)) }
        configuration.port = try UInt16(arguments.integer("port", in: 0...65_535) ?? 0)
        if let rate = try arguments.positiveNumber("rate") { configuration.eventsPerSecond = rate }
        if arguments.has("tls") { configuration.tls = .init() }
        if arguments.has("compress") {
            configuration.messageCompression = .deflate(.init())
            configuration.contentCoding = .gzip
        }
        let recordings = arguments.texts("recording")
        if !recordings.isEmpty {
            var contents: [[String]] = []
            for path in recordings { contents.append(try Self.recording(path)) }
            configuration.model = .recordings(contents)
        }
        self.configuration = configuration
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
    /// Where in a JSON text something is wrong, and what.
    fileprivate var place: String {
        let context: Context
        switch self {
        case .typeMismatch(_, let found), .valueNotFound(_, let found), .keyNotFound(_, let found),
            .dataCorrupted(let found):
            context = found
        @unknown default: return "it cannot be decoded"
        }
        let path = context.codingPath.map(\.stringValue).joined(separator: ".")
        return path.isEmpty ? context.debugDescription : "\(path): \(context.debugDescription)"
    }
}
