public import PlatformFoundation

/// The request whose answer is an event stream: a GET by default, or one with any method, fields and content.
///
/// Its description has no fields and no content, which may hold secrets.
public struct EventSourceRequest: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The address: `http` or `https`, without user information.
    ///
    /// A fragment is not sent.
    public var url: URL
    /// The method (RFC 9110 section 9), a token other than `CONNECT`.
    ///
    /// Default `GET`. Methods are compared with regard to case.
    public var method = "GET"
    /// The fields of the request, in their order.
    ///
    /// Default none. They replace those that are sent otherwise: `Accept: text/event-stream`, `Cache-Control:
    /// no-cache`, `Accept-Encoding` and `User-Agent`. `Last-Event-ID` is a property of its own, and the transport
    /// writes `Host`, `Connection` and `Content-Length` itself.
    public var fields: [(name: String, value: String)] = []
    /// The content; nil for none.
    ///
    /// Default nil. Its media type is a field, `Content-Type`.
    public var body: [UInt8]?
    /// The last event ID with which the event source begins (WHATWG HTML section 9.2.2); empty for none.
    ///
    /// Default empty. For a program that continues a stream of an earlier run.
    public var lastEventID = ""
    /// The caller's name for the request, in every log line.
    ///
    /// Default nil, for a random UUID. It is not sent.
    public var requestID: String?

    /// Creates a GET.
    public init(url: URL) {
        self.url = url
    }

    /// The method only.
    public var description: String { "EventSourceRequest(\(self.method), redacted)" }
    /// The same as `description`.
    public var debugDescription: String { self.description }
    /// No children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
