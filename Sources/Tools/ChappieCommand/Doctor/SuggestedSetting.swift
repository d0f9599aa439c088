// The settings of an advice as options of the command line and as Swift. Pure.
import ChappieDiagnosis

/// A setting that fits a path, in each form in which it can be made.
///
/// One table has both forms, so that a setting is printed in both or in neither.
enum SuggestedSetting: Equatable {
    /// No WebSocket.
    case httpOnly
    /// No offer of compression.
    case noCompression
    /// The silence after which pings are sent, in whole seconds, at least one.
    case pingInterval(Int)

    /// Returns the settings of an advice, without its variables; none where the defaults fit.
    static func all(in advice: ChappieDiagnosis.Advice) -> [Self] {
        var settings: [Self] = []
        if advice.usesHTTPOnly { settings.append(.httpOnly) }
        if advice.disablesCompression { settings.append(.noCompression) }
        if let interval = advice.pingInterval {
            settings.append(.pingInterval(max(1, Int(interval.components.seconds))))
        }
        return settings
    }

    /// The option of `chappie stream`, with its value.
    var option: String {
        switch self {
        case .httpOnly: "--http-only"
        case .noCompression: "--no-compression"
        case .pingInterval(let seconds): "--ping-interval \(seconds)"
        }
    }

    /// The statement about a `ChappieTransportConfiguration`.
    var statement: String {
        switch self {
        case .httpOnly: "configuration.policy = .httpSSEOnly"
        case .noCompression: "configuration.offersCompression = false"
        case .pingInterval(let seconds): "configuration.timeouts.pingInterval = .seconds(\(seconds))"
        }
    }
}
