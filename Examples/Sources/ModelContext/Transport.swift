// The transport of the Model Context Protocol's Swift SDK, written out, so that the example builds without a network.
// In a program, delete this file and import `MCP`; its protocol also has a logger.
import Foundation

/// A connection to a server of the Model Context Protocol.
public protocol Transport: Actor {
    /// Prepares the transport.
    func connect() async throws
    /// Ends the transport and everything that it receives.
    func disconnect() async
    /// Sends one message, in JSON.
    func send(_ data: Data) async throws
    /// Returns the messages of the server, each in JSON.
    func receive() -> AsyncThrowingStream<Data, any Error>
}
