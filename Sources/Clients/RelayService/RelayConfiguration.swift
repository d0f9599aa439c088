package import RelayHTTPServer

/// The settings of a relay.
///
/// A value.
package struct RelayConfiguration: Sendable {
    /// The address, port, certificate and limits of its server.
    package var server = HTTPServerConfiguration()
    /// The keys of its users; nil for all clients that can reach it.
    package var keys: RelayKeys?
    /// The maximum number of streams of one key that this process makes at a time; 100 by default.
    package var streamsPerKey = 100
    /// The maximum number of requests of one key that are answered at a time, WebSockets included; 1,000 by default.
    package var requestsPerKey = 1000
    /// The origins whose pages may read streams (`Access-Control-Allow-Origin`), such as `https://chat.example`.
    ///
    /// Default none; `*` is for all.
    package var allowedOrigins: [String] = []
    /// The model of a request that names none.
    package var model: String?
    /// Indicates whether `GET /` is a page about the streams of this process; false by default.
    ///
    /// With keys, a browser asks for one of them as a password.
    package var showsStatus = false
    /// Receives a JSON object for each request that has ended, without content and credentials.
    package var logLine: (@Sendable (String) -> Void)?

    /// Creates the default settings.
    package init() {}
}

/// The keys of a relay's users: a name and a key in each line of a file.
///
/// A value.
///
/// A stream belongs to the name whose key made it.
package struct RelayKeys: Sendable {
    /// The reason for which a file of keys cannot be used, with the number of the line.
    package enum Failure: Error, Equatable, Sendable {
        case noKey(line: Int)
        case shortKey(line: Int)
        case repeatedKey(line: Int)
        case empty
    }

    private let names: [[UInt8]: String]

    /// Reads the text of a file: lines of a name, white space and a key of at least 16 bytes.
    ///
    /// A `#` begins a comment.
    package init(_ text: String) throws(Failure) {
        var names: [[UInt8]: String] = [:]
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }
            guard let name = words.first else { continue }
            guard words.count == 2 else { throw .noKey(line: index + 1) }
            let key = Array(words[1].utf8)
            guard key.count >= 16 else { throw .shortKey(line: index + 1) }
            guard names.updateValue(String(name), forKey: key) == nil else { throw .repeatedKey(line: index + 1) }
        }
        guard !names.isEmpty else { throw .empty }
        self.names = names
    }

    /// Returns the name that a bearer token belongs to, in the same time for every token of a length.
    func name(of token: String) -> String? {
        let token = Array(token.utf8)
        var found: String?
        for (key, name) in self.names {
            guard key.count == token.count else { continue }
            var difference: UInt8 = 0
            for (left, right) in zip(key, token) { difference |= left ^ right }
            if difference == 0 { found = name }
        }
        return found
    }
}
