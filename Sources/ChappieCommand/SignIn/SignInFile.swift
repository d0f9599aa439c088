// The configuration file of the commands: what is in it, and where it is.
import Chappie

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a person has written down about signing in, so that it need not be typed.
///
/// A JSON object; every member is optional.
struct SignInFile: Equatable {
    /// What can be given in the file; options precede it.
    enum Member: String, CaseIterable {
        /// The client ID.
        case clientID = "client_id"
        /// The issuer's URL.
        case issuer
        /// The name of the account.
        case account
        /// The token endpoint of a server that keeps to the standards.
        case tokenEndpoint = "token_endpoint"
        /// Where that server gives device codes (RFC 8628 section 3.1).
        case deviceEndpoint = "device_authorization_endpoint"
        /// Where a browser begins there.
        case authorizationEndpoint = "authorization_endpoint"
        /// Where that server revokes tokens (RFC 7009).
        case revocationEndpoint = "revocation_endpoint"
        /// What is asked for there.
        case scope
    }

    /// The file's path, for messages.
    let path: String
    private let members: [Member: String]

    /// A member's text; nil when it is not there.
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

    /// The file that an environment names; nil when there is none.
    static func find(_ environment: [String: String]) throws(UsageError) -> SignInFile? {
        let path = Self.path(environment)
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        return try SignInFile(text: DescriptorReader.bytes(ofFile: path), path: path)
    }

    /// Where the file is looked for.
    ///
    /// In `CHAPPIE_HOME`, or `chappie` below `XDG_CONFIG_HOME`, or `~/.config/chappie`: the first that is set.
    static func path(_ environment: [String: String]) -> String {
        ChappieFileCredentialStorage.home(in: environment) + "/config.json"
    }
}
