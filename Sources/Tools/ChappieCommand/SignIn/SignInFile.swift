// The configuration file of the commands: its content and its path.
import Chappie
import ChappieSignIn
import ChappieTestServer
import PlatformFoundation

/// The stored sign-in options of a user.
///
/// A JSON object; every member is optional.
struct SignInFile: Equatable {
    /// The members of the file; command-line options precede them.
    enum Member: String, CaseIterable {
        /// The client ID.
        case clientID = "client_id"
        /// The issuer's URL.
        case issuer
        /// The name of the account.
        case account
        /// The token endpoint of a server that conforms to the standards.
        case tokenEndpoint = "token_endpoint"
        /// The device authorization endpoint of that server (RFC 8628 section 3.1).
        case deviceEndpoint = "device_authorization_endpoint"
        /// The authorization endpoint of that server.
        case authorizationEndpoint = "authorization_endpoint"
        /// The revocation endpoint of that server (RFC 7009).
        case revocationEndpoint = "revocation_endpoint"
        /// The requested scope.
        case scope
    }

    /// The file's path, for messages.
    let path: String
    private let members: [Member: String]

    /// Returns a member's text; nil when it is missing.
    subscript(member: Member) -> String? { self.members[member] }

    /// Reads a file's text; its errors name the file and the member.
    init(text: [UInt8], path: String) throws(UsageError) {
        guard let text = String(validating: text, as: UTF8.self), let value = ChappieJSONValue(jsonText: text),
            case .object(let values) = value
        else { throw UsageError("\(path) is not a JSON object") }
        var members: [Member: String] = [:]
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            guard let member = Member(rawValue: name) else {
                let nearest = EditDistance.nearest(to: name, among: Member.allCases.map(\.rawValue))
                throw UsageError(
                    "\(path): unknown member '\(name)'" + (nearest.map { "; did you mean '\($0)'?" } ?? ""))
            }
            guard case .string(let text) = value, !text.isEmpty else {
                throw UsageError("\(path): member '\(name)' has to be a text that is not empty")
            }
            members[member] = text
        }
        self.path = path
        self.members = members
    }

    /// Returns the file that an environment names; nil when there is none.
    static func find(_ environment: [String: String]) throws(UsageError) -> SignInFile? {
        let path = Self.path(environment)
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        return try SignInFile(text: DescriptorReader.bytes(ofFile: path), path: path)
    }

    /// Returns the path of the file.
    ///
    /// In `CHAPPIE_HOME`, or `chappie` below `XDG_CONFIG_HOME`, or `~/.config/chappie`: the first that is set.
    static func path(_ environment: [String: String]) -> String {
        ChappieFileCredentialStorage.home(in: environment) + "/config.json"
    }
}
