/// The task of a peer.
struct PeerTask: Decodable {
    /// A size of response, and the URL of its server.
    ///
    /// The third element, a certificate, is ignored: on Linux, URLSession trusts the system's certificates alone.
    struct Size: Decodable {
        let deltaCount: Int
        let url: String

        init(from decoder: any Decoder) throws {
            var values = try decoder.unkeyedContainer()
            self.deltaCount = try values.decode(Int.self)
            self.url = try values.decode(String.self)
        }
    }

    /// The sizes in ascending order.
    let sizes: [Size]
    /// The number of simultaneous streams.
    let streamCount: Int
    let isCompressed: Bool
    /// The time of a run in seconds.
    let seconds: Double
    /// The number of timed runs.
    let runCount: Int
}

/// The times and the counts of one pass.
struct PeerRun: Encodable {
    /// The counts of a stream.
    struct Stream: Encodable {
        let eventCount: Int
        let bodyByteCount: Int
        let bodyChecksum: UInt32?
    }

    let seconds: Double
    let processorSeconds: Double
    let streams: [Stream]
}

/// The answer of the peer.
struct PeerResult: Encodable {
    /// Empty: the version of Foundation is that of the compiler, which the caller knows.
    let version = ""
    let deltaCount: Int
    let check: PeerRun
    var runs: [PeerRun] = []
}
