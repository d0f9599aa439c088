/// What a peer is asked to read.
struct PeerTask: Decodable {
    /// A response, and where it is served.
    ///
    /// The certificate behind the two is of no use: on Linux, URLSession trusts what the system trusts.
    struct Size: Decodable {
        let deltaCount: Int
        let url: String

        init(from decoder: any Decoder) throws {
            var values = try decoder.unkeyedContainer()
            self.deltaCount = try values.decode(Int.self)
            self.url = try values.decode(String.self)
        }
    }

    /// In ascending order.
    let sizes: [Size]
    /// How many are read at the same time.
    let streamCount: Int
    let isCompressed: Bool
    /// How long a run may take.
    let seconds: Double
    /// How many runs are timed.
    let runCount: Int
}

/// What one pass found.
struct PeerRun: Encodable {
    /// What was in a stream.
    struct Stream: Encodable {
        let eventCount: Int
        let bodyByteCount: Int
        let bodyChecksum: UInt32?
    }

    let seconds: Double
    let processorSeconds: Double
    let streams: [Stream]
}

/// What the peer answers.
struct PeerResult: Encodable {
    /// The version of Foundation is that of the compiler, which the caller knows.
    let version = ""
    let deltaCount: Int
    let check: PeerRun
    var runs: [PeerRun] = []
}
