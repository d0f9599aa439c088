/// The progress of a turn's request.
enum RequestProgress: Comparable {
    /// The server has not seen the whole request.
    case notSent
    /// An attempt over HTTP was started with its request, and has no answer: if it ends before the request can have
    /// been sent, the request counts as not sent.
    case onItsWay
    /// The server may have seen the whole request.
    case sent
    /// Input was added to the response that the request does not hold: sending the request again would lose it.
    case steered

    /// Raises the progress to a value, unless it is higher already.
    mutating func reach(_ progress: Self) { self = max(self, progress) }
}
