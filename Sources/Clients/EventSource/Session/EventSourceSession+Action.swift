package import StreamSession
package import StreamTransport

// The next steps of an event source, as values.
extension EventSourceSession {
    /// A request, in the form in which it is sent.
    package struct Exchange: Sendable, Equatable {
        /// The method.
        package var method: String
        /// The server and the target.
        package var endpoint: TransportEndpoint
        /// The fields, beside those that the transport writes itself.
        package var fields: [HTTPField]
        /// The content; nil for none.
        package var body: [UInt8]?

        /// Creates a request.
        package init(
            method: String = "GET", endpoint: TransportEndpoint, fields: [HTTPField] = [], body: [UInt8]? = nil
        ) {
            self.method = method
            self.endpoint = endpoint
            self.fields = fields
            self.body = body
        }
    }

    /// The step that follows an input.
    package enum Action: Sendable, Equatable {
        /// Send the request on a connection of its own, in place of the current one; `head`, `ended` or `timedOut`
        /// follows.
        case connect(Exchange)
        /// Give the bytes of the content to `receive`.
        case readEvents
        /// Read the beginning of the content, which describes the refusal; `refusalRead` follows.
        case readRefusal
        /// Drop the connection, and call `waited` after that time; the failure is nil when the stream ended in order.
        case wait(Duration, after: Failure?)
        /// The event source has ended without an error.
        case finish
        /// The event source has ended with an error.
        case fail(Failure)
    }

    /// The reason why a connection, or the event source, has ended.
    package enum Failure: Error, Sendable, Equatable {
        /// An answer that is no event stream, a broken connection, a limit, or a status code.
        case attempt(AttemptFailure)
        /// A redirect that is not followed; the status code of the answer.
        case redirect(RedirectFault, statusCode: Int)
    }

    /// The reason why a redirect is not followed.
    package typealias RedirectFault = EventSourceRedirectFault
}
