// The settings of a server.
// Values without an owner.

package import HTTPProtocol

/// The address, the certificate, the limits and the time-outs of an `HTTPServer`.
package struct HTTPServerConfiguration: Sendable {
    /// The certificate of a server that speaks TLS.
    package struct TLSFiles: Equatable, Sendable {
        /// The path of a PEM file with the certificate, and behind it the intermediate ones.
        package var certificateChain: String
        /// The path of a PEM file with the certificate's private key, without a passphrase.
        package var privateKey: String

        /// Names the files.
        package init(certificateChain: String, privateKey: String) {
            self.certificateChain = certificateChain
            self.privateKey = privateKey
        }
    }

    /// The largest sizes and numbers.
    package struct Limits: Equatable, Sendable {
        /// The limits of a request; a message of a WebSocket has the limit of a body.
        package var request = RequestLimits()
        /// The most connections, 10,000 by default; one more is answered with 503 and closed.
        package var connectionCount = 10_000
        /// The most bytes that wait for a reader before its writer is told that the buffer is full, 256 KiB by default.
        ///
        /// A writer may exceed it by one chunk. What the system has taken to send is not counted.
        package var bufferedByteCount = 262_144

        /// Makes the default limits.
        package init() {}
    }

    /// The longest waits.
    package struct Timeouts: Equatable, Sendable {
        /// The time between two requests, 60 seconds by default.
        package var keepAlive: Duration = .seconds(60)
        /// The time from a connection, or from the first byte of a request, to the end of the head, 10 seconds by
        /// default; TLS handshakes are included.
        package var requestHead: Duration = .seconds(10)
        /// The time between two reads of a body, 30 seconds by default.
        package var body: Duration = .seconds(30)
        /// The time in which a reader takes no byte, 30 seconds by default.
        package var stall: Duration = .seconds(30)
        /// The quiet on a WebSocket before a ping is sent, and after it before the client is given up, 30 seconds by
        /// default.
        package var ping: Duration = .seconds(30)
        /// The time that a client has to answer a close frame, or to close a connection that the server has ended, 2
        /// seconds by default.
        package var closing: Duration = .seconds(2)

        /// Makes the default time-outs.
        package init() {}
    }

    /// The numeric address to listen on: `127.0.0.1` by default; `::` is every address of both families.
    package var address = "127.0.0.1"
    /// The port; 0, the default, lets the system choose one.
    package var port: UInt16 = 0
    /// The certificate; nil, the default, for a server without TLS.
    package var tls: TLSFiles?
    /// The limits.
    package var limits = Limits()
    /// The time-outs.
    package var timeouts = Timeouts()
    /// The value of `Retry-After` in the answer to a connection above the limit, in seconds; 5 by default.
    package var retryAfterSeconds = 5

    /// Makes the default settings.
    package init() {}
}
