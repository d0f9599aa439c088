// Gathers single bytes into chunks, without delaying a byte that could complete an event. Compiled into the caller's
// module.

/// The bytes of a sequence of single bytes, gathered into chunks.
///
/// A chunk ends with every CR and every LF, because each part of an event stream is completed by one of them (WHATWG
/// HTML section 9.2.6). It is made by `serverSentEvents()` of a sequence of bytes.
public struct AsyncByteChunks<Base: AsyncSequence>: AsyncSequence where Base.Element == UInt8 {
    /// A few bytes, at least one.
    public typealias Element = [UInt8]

    /// Errors of the base.
    public typealias Failure = Base.Failure

    @usableFromInline let base: Base

    /// Creates the sequence over single bytes.
    @inlinable init(base: Base) { self.base = base }

    /// Begins to read the base.
    @inlinable public func makeAsyncIterator() -> Iterator { Iterator(base: self.base.makeAsyncIterator()) }
}

extension AsyncByteChunks {
    /// Reads the base.
    ///
    /// It is inlinable because the call for each byte dominates the cost of reading single bytes.
    public struct Iterator: AsyncIteratorProtocol {
        /// A few bytes, at least one.
        public typealias Element = [UInt8]

        /// Errors of the base.
        public typealias Failure = Base.Failure

        /// The first step of the next call.
        @usableFromInline enum State {
            /// Reads the base.
            case reading
            /// Throws the error of the base that came behind the bytes of a chunk.
            case failed(Failure)
            /// Returns nil, because the base has ended.
            case finished
        }

        @usableFromInline var base: Base.AsyncIterator
        @usableFromInline var state = State.reading
        /// The chunk; its memory is used again when the caller has released it.
        @usableFromInline var chunk: [UInt8] = []

        /// The largest chunk; a longer line is returned in pieces.
        @usableFromInline static var largestByteCount: Int { 1_024 }

        /// Creates an iterator at the beginning of the base.
        @inlinable init(base: Base.AsyncIterator) { self.base = base }

        /// Returns the next chunk; nil when the base has ended.
        ///
        /// - Throws: what the base throws, after the bytes before it
        @inlinable public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(Failure) -> [UInt8]? {
            self.chunk.removeAll(keepingCapacity: true)
            switch self.state {
            case .reading:
                await self.gather(isolation: actor)
                return self.chunk.isEmpty ? try self.finish() : self.chunk
            case .failed, .finished:
                return try self.finish()
            }
        }

        /// Reads until a byte may have completed a part of the stream.
        @inlinable mutating func gather(isolation actor: isolated (any Actor)?) async {
            do throws(Failure) {
                while let byte = try await self.base.next(isolation: actor) {
                    self.chunk.append(byte)
                    if byte == 0x0A || byte == 0x0D || self.chunk.count == Self.largestByteCount { return }
                }
                self.state = .finished
            } catch {
                self.state = .failed(error)
            }
        }

        /// Throws the error of the base, once.
        @inlinable mutating func finish() throws(Failure) -> [UInt8]? {
            guard case .failed(let error) = self.state else { return nil }
            self.state = .finished
            throw error
        }
    }
}

extension AsyncByteChunks: Sendable where Base: Sendable {}

@available(*, unavailable)
extension AsyncByteChunks.Iterator: Sendable {}
