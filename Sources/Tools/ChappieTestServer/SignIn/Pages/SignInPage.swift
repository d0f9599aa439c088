// The pages of the authorization server, for people.
//
// Pure.

/// A self-contained page.
struct SignInPage {
    /// The heading.
    var title: String
    /// The message.
    var message: String
    /// The address to which its form is posted; nil when there is none.
    var action: String?
    /// The browser's request that the form is about.
    var request: String?
    /// The value of the field for a device's code; nil when there is no such field.
    var userCode: String?

    /// The page as HTML.
    var text: String {
        """
        <!doctype html>
        <html lang="en">
        <head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
        <title>\(Self.escaped(self.title))</title><style>\(Self.style)</style></head>
        <body><main><h1>\(Self.escaped(self.title))</h1>
        <p>\(Self.escaped(self.message))</p>
        \(self.form)</main></body>
        </html>

        """
    }

    private var form: String {
        guard let action = self.action else { return "" }
        let request = self.request.map { "<input type=\"hidden\" name=\"request\" value=\"\(Self.escaped($0))\">" }
        let code = self.userCode.map {
            "<label>Code <input name=\"user_code\" value=\"\(Self.escaped($0))\" autocomplete=\"off\" autofocus></label>"
        }
        return """
            <form method="post" action="\(Self.escaped(action))">\(request ?? "")\(code ?? "")
            <button name="decision" value="agree">Agree</button>
            <button name="decision" value="deny">Deny</button></form>
            """
    }

    private static let style = """
        body{font:1rem/1.5 sans-serif;color-scheme:light dark;margin:0;display:grid;place-items:center;min-height:100vh}
        main{max-width:28rem;padding:2rem}label{display:block;margin-bottom:1rem}
        input,button{font:inherit;padding:.5rem 1rem}
        """

    /// Returns text that is safe in an element and in an attribute.
    ///
    /// It is escaped scalar by scalar: a quotation mark with a combining accent is another character, but still ends a
    /// value.
    static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
    }
}
