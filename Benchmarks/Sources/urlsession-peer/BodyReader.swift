import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Reads a body by delegate, and counts its bytes.
///
/// Its state is behind a lock: the session calls it on a queue of its own.
final class BodyReader: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private let lock = NSLock()
    private let checks: Bool
    private let isCompressed: Bool
    private var found = Body()
    private var finish: CheckedContinuation<Body, any Error>?

    /// The size and the checksum of a body.
    struct Body {
        var byteCount = 0
        /// A CRC-32 of the bytes, in a pass that checks.
        var checksum = Checksum()
    }

    /// Makes a reader of one body, which has to be compressed or not.
    init(checks: Bool, isCompressed: Bool) {
        self.checks = checks
        self.isCompressed = isCompressed
    }

    /// Reads a URL to the end of its body.
    func read(_ url: URL) async throws -> Body {
        let session = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: nil)
        defer { session.finishTasksAndInvalidate() }
        return try await withCheckedThrowingContinuation { continuation in
            self.lock.withLock { self.finish = continuation }
            session.dataTask(with: url).resume()
        }
    }

    /// Counts a piece.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        self.lock.withLock {
            self.found.byteCount += data.count
            if self.checks { self.found.checksum.add(data) }
        }
    }

    /// Ends the reading.
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let (finish, found) = self.lock.withLock { (self.finish, self.found) }
        if let error = error ?? self.mistake(in: task.response) {
            finish?.resume(throwing: error)
        } else {
            finish?.resume(returning: found)
        }
    }

    private func mistake(in response: URLResponse?) -> PeerError? {
        guard let response = response as? HTTPURLResponse else { return PeerError("no response") }
        guard response.statusCode == 200 else { return PeerError("status \(response.statusCode)") }
        let isCompressed = response.value(forHTTPHeaderField: "Content-Encoding") == "gzip"
        return isCompressed == self.isCompressed
            ? nil : PeerError("the body is \(isCompressed ? "" : "not ")compressed")
    }
}

/// The reason for which there is no figure.
struct PeerError: Error, CustomStringConvertible {
    let description: String

    /// Makes an error with a description.
    init(_ description: String) { self.description = description }
}
