import ChappieTransport
import ResponseEvents
import TransportSurface

/// The model's choice among the tools of a request (`tool_choice`).
///
/// A choice that demands a call, here or in a body of the program's own, applies to the first request of a turn. The
/// later ones, which have the outputs of its calls, are sent with `auto`: otherwise the model could never answer.
///
/// A minor version may add cases.
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

    /// Returns whether a choice, as JSON text, lets the model answer without a call.
    static func isFree(_ json: ArraySlice<UInt8>) -> Bool {
        if let object = try? JSONObjectText(Array(json)) {
            return object.text(of: "type") == "allowed_tools" && object.text(of: "mode") != "required"
        }
        return [Self.auto, .none].contains { $0.json[...] == json }
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
