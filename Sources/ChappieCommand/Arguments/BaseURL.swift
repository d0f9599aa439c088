// The addresses of servers, as they are typed.
import PlatformFoundation

/// Base URLs from text.
enum BaseURL {
    /// The address used when there is a key and no base URL.
    static let byDefault = "https://api.openai.com/v1"

    /// Reads a URL with a scheme and a host; throws when the text is not one.
    static func read(_ text: String) throws(UsageError) -> URL {
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased()),
            let host = url.host(), !host.isEmpty
        else { throw UsageError("the base URL has to look like https://HOST/v1 or http://HOST:8080/v1") }
        return url
    }
}
