/// The messages of a WebSocket connection, in order, each pulled from the connection when it is asked for.
///
/// It ends without an error when the closing handshake that this side began is complete, and when the server closes
/// with 1000, 1001 or without a code; any other end throws a ``WebSocketError``. Cancelling the task that reads closes
/// the connection with 1001, and throws `CancellationError`. For one consumer at a time.
///
/// ```swift
/// for try await message in connection.messages {
///     guard case .text(let text) = message else { continue }
///     print(text)
/// }
/// ```
public struct WebSocketMessages: AsyncSequence, Sendable {
    /// A message.
    public typealias Element = WebSocketMessage
    /// The errors are ``WebSocketError`` and `CancellationError`.
    public typealias Failure = any Error

    private let connection: WebSocketConnection

    init(_ connection: WebSocketConnection) { self.connection = connection }

    /// Creates an iterator, which begins with the first message that was not read.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(connection: self.connection) }

    /// The iterator, which keeps the connection open.
    public struct AsyncIterator: AsyncIteratorProtocol {
        @usableFromInline let connection: WebSocketConnection
        @usableFromInline var isOver = false

        fileprivate init(connection: WebSocketConnection) { self.connection = connection }

        /// Returns the next message, on the given actor; nil after the end.
        @inlinable @inline(__always)
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(any Error) -> WebSocketMessage? {
            guard !self.isOver else { return nil }
            // Over, unless the call returns a message.
            self.isOver = true
            let message = try await self.connection.receive(isolation: actor)
            self.isOver = message == nil
            return message
        }

        /// Returns the next message; nil after the end.
        @inlinable
        public mutating func next() async throws -> WebSocketMessage? { try await self.next(isolation: nil) }
    }
}
