import LibwebsocketsTransport
import PlatformFoundation

/// The code challenge of a verifier (RFC 7636 section 4.2).
package enum CodeChallenge {
    /// Returns the challenge by the method `S256`; nil when the system's library has no SHA-256.
    package static func s256(_ verifier: String) -> String? {
        SHA256Digest.digest(of: Array(verifier.utf8)).map { self.base64url($0) }
    }

    /// Returns base64url without padding (RFC 7636 appendix A).
    package static func base64url(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
