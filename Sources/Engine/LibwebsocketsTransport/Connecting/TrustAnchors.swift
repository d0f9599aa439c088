import CLibwebsocketsShim
import StreamTransport

/// The trust anchors that have been read, for all service threads of the process.
///
/// Reading the system's anchors takes tens of milliseconds and a megabyte, so each set is read once, and never freed.
enum TrustAnchors {
    /// The anchors as the shim has read them.
    /// - Safety: OpenSSL's stores lock themselves, and this one is not changed once it was made.
    private struct Anchors: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    private static let known = LockedValue<[ChappieTLSPolicy.Trust: Anchors]>([:])

    /// Returns the anchors that a policy names; nil when they cannot be read.
    ///
    /// A failed read is tried again at the next call.
    static func read(_ trust: ChappieTLSPolicy.Trust) -> OpaquePointer? {
        self.known.withLock { known in
            if let anchors = known[trust] { return anchors.pointer }
            let made =
                switch trust {
                case .system: clws_trust_create(nil)
                case .file(let path): clws_trust_create(path)
                }
            guard let made else { return nil }
            known[trust] = Anchors(pointer: made)
            return made
        }
    }
}
