import StreamSession
import StreamTransport

extension TransportEndpoint {
    /// Changes the address to that of a response, and of the position at which it is resumed.
    mutating func resume(at cursor: ResumeCursor) {
        let parts = self.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let id = PercentEncoding.encode(cursor.responseID)
        var query = "stream=true"
        if let number = cursor.lastSequenceNumber { query += "&starting_after=\(number)" }
        if parts.count > 1 { query += "&" + parts[1] }
        self.target = "\(parts[0])/\(id)?\(query)"
    }
}
