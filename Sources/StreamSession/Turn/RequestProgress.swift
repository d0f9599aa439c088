/// How far a turn's request has gone.
enum RequestProgress: Comparable {
    /// The server has not seen the whole request.
    case notSent
    /// A request over HTTP that waits for its answer was let go, where the program is asked.
    case onItsWay
    /// The server may have seen the whole request.
    case sent
    /// Something was put into the response that the request does not hold: to send it again would lose that.
    case steered

    /// The request has gone so far, or farther.
    mutating func reach(_ progress: Self) { self = max(self, progress) }
}
