// The addresses of servers, as they are typed.
import Chappie
import PlatformFoundation

/// Base URLs from text.
enum BaseURL {
    /// The address used when there is a key and no base URL.
    static let byDefault = "https://api.openai.com/v1"
    /// The environment variables with a base URL, in the order of their precedence.
    static let variables = ChappieEndpoint.baseURLVariables

    /// Reads a URL with a scheme and a host; throws when the text is not one.
    ///
    /// Spaces and line breaks around it are left out: a URL has none, and a pasted one may have them.
    static func read(_ text: String) throws(UsageError) -> URL {
        var address = text.drop { $0.isWhitespace }
        while address.last?.isWhitespace == true { address.removeLast() }
        guard let url = URL(string: String(address)), ["http", "https"].contains(url.scheme?.lowercased()),
            let host = url.host(), !host.isEmpty
        else { throw UsageError("the base URL has to look like https://HOST/v1 or http://HOST:8080/v1") }
        return url
    }
}
