import StreamTransport

/// The connections that a turn's driver waits for.
struct ConnectionWait {
    let connection: any TransportConnection
    /// The connection of the other attempt of a race; nil when there is none.
    let other: (any TransportConnection)?
    /// The maximum duration in nanoseconds; nil without one.
    let nanoseconds: Int64?
}
