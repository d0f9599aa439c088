/// The progress of a turn's request.
enum RequestProgress: Comparable {
    /// The server has not seen the whole request.
    case notSent
    /// A held HTTP request was released, where the program is asked for its permission.
    case onItsWay
    /// The server may have seen the whole request.
    case sent
    /// Input was added to the response that the request does not hold: sending the request again would lose it.
    case steered

    /// Raises the progress to a value, unless it is higher already.
    mutating func reach(_ progress: Self) { self = max(self, progress) }
}
