import ChappieTransport
import ResponseEvents

/// The model's choice among the tools of a request (`tool_choice`).
///
/// A choice that demands a call applies to the first response of a turn. The later ones, which have the outputs of its
/// calls, are sent with `auto`: otherwise the model could never answer.
///
/// More cases may be added: a `switch` needs a `default`.
public enum ChappieToolChoice: Sendable, Hashable {
    /// The model decides; the server's default.
    case auto
    /// No tool is called.
    ///
    /// Assigned to an optional property it is written in full, `ChappieToolChoice.none`: `.none` alone is nil.
    case none
    /// At least one tool is called.
    case required
    /// This function is called: its name, which is 1 to 64 of `A–Z a–z 0–9 _ -`.
    case function(String)
    /// This custom tool is called: its name, as above.
    case customTool(String)
    /// A tool of this type that the server runs is used: `web_search`.
    case hostedTool(type: String)

    /// The choice as JSON text.
    var json: [UInt8] {
        var object = JSONObjectText()
        switch self {
        case .auto: return JSONText.string("auto")
        case .none: return JSONText.string("none")
        case .required: return JSONText.string("required")
        case .function(let name):
            object.setText("function", for: "type")
            object.setText(name, for: "name")
        case .customTool(let name):
            object.setText("custom", for: "type")
            object.setText(name, for: "name")
        case .hostedTool(let type): object.setText(type, for: "type")
        }
        return object.json
    }

    /// The choice for a request with the outputs of calls.
    var afterCalls: Self {
        switch self {
        case .auto, .none: self
        case .required, .function, .customTool, .hostedTool: .auto
        }
    }

    /// The fault of a name or a type; nil when it can be sent.
    var fault: String? {
        switch self {
        case .auto, .none, .required: nil
        case .function(let name), .customTool(let name): TextRule.name(name)
        case .hostedTool(let type): TextRule.word(type)
        }
    }
}
