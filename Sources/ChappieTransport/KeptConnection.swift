import StreamTransport

/// A WebSocket that carried a whole response, or was opened in background, and can carry the next one.
struct KeptConnection {
    let connection: any TransportConnection
    /// Whom the connection speaks for.
    let credential: ChappieCredential?
    /// When it was asked for; its statistics count from then.
    let startedAt: Duration
    /// When it was put aside.
    let keptAt: Duration
    /// The response it carried last.
    var lastResponseID: String?

    /// When the newest byte came, or it was put aside.
    var lastReceived: Duration {
        self.connection.statistics.lastReceived.map { max(self.startedAt + $0, self.keptAt) } ?? self.keptAt
    }
}

/// An opening handshake that no turn waits for.
struct PendingUpgrade {
    /// Why it is under way.
    enum Purpose {
        /// A turn has sent its request over HTTP in the meantime.
        case race
        /// The instance has fallen back, and finds out whether it still has to.
        case probe
    }

    let connection: any TransportConnection
    let credential: ChappieCredential?
    let startedAt: Duration
    let purpose: Purpose
}
