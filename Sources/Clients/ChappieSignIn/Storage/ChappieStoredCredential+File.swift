import PlatformFoundation

extension ChappieStoredCredential {
    /// The version of the form of stored credentials.
    static let fileVersion = 1

    /// Returns the stored form of a credential: a JSON object.
    func fileContents(account: String) -> [UInt8] {
        func text(_ value: String?) -> ChappieJSONValue { value.map { .string($0) } ?? .null }
        let root: ChappieJSONValue = [
            "version": .number(Double(Self.fileVersion)),
            "account": .string(account),
            "issuer": .string(self.issuer),
            "endpoints": self.endpoints.map(Self.value) ?? .null,
            "client_id": .string(self.clientID),
            "tokens": [
                "access_token": .string(self.accessToken),
                "refresh_token": text(self.refreshToken),
                "id_token": text(self.idToken),
                "account_id": text(self.accountID),
            ],
            // Seconds since 1970.
            "expires_at": self.expiresAt.map { .number(Self.seconds($0)) } ?? .null,
            "refreshed_at": .number(Self.seconds(self.refreshedAt)),
            "refresh_failure": text(self.refreshFailure),
        ]
        return Array((root.jsonText + "\n").utf8)
    }

    /// Reads the stored form of an account's credential; `path` is for the error.
    ///
    /// Unknown members are ignored.
    init(fileContents: [UInt8], account: String, path: String) throws(ChappieCredentialStorageError) {
        guard let text = String(validating: fileContents, as: UTF8.self), let root = ChappieJSONValue(jsonText: text),
            let version = root["version"]?.number.flatMap({ Int(exactly: $0) })
        else { throw .unreadable(path: path) }
        guard version == Self.fileVersion else { throw .unknownVersion(path: path, version: version) }
        guard let name = root["account"]?.string else { throw .unreadable(path: path) }
        guard name == account else { throw .otherAccount(path: path) }
        do throws(Damage) {
            guard let tokens = root["tokens"] else { throw Damage() }
            self.init(
                accessToken: try Self.required(tokens["access_token"]),
                refreshToken: try Self.optional(tokens["refresh_token"]),
                idToken: try Self.optional(tokens["id_token"]),
                accountID: try Self.optional(tokens["account_id"]),
                clientID: try Self.required(root["client_id"]),
                issuer: try Self.required(root["issuer"]),
                expiresAt: try Self.date(root["expires_at"]),
                refreshedAt: try Self.date(root["refreshed_at"]) ?? Date(timeIntervalSince1970: 0))
            self.endpoints = try Self.endpoints(root["endpoints"])
            self.refreshFailure = try Self.optional(root["refresh_failure"])
        } catch {
            throw .unreadable(path: path)
        }
    }

    /// The error of a member that is missing or has the wrong type.
    private struct Damage: Error {}

    private static func required(_ value: ChappieJSONValue?) throws(Damage) -> String {
        guard let text = value?.string, !text.isEmpty else { throw Damage() }
        return text
    }

    private static func optional(_ value: ChappieJSONValue?) throws(Damage) -> String? {
        switch value {
        case nil, .null: nil
        default: try self.required(value)
        }
    }

    private static func value(_ endpoints: Endpoints) -> ChappieJSONValue {
        [
            "token_endpoint": .string(endpoints.token.absoluteString),
            "revocation_endpoint": endpoints.revocation.map { .string($0.absoluteString) } ?? .null,
            "body_coding": .string(endpoints.bodyCoding.rawValue),
        ]
    }

    private static func endpoints(_ value: ChappieJSONValue?) throws(Damage) -> Endpoints? {
        guard let value, value != .null else { return nil }
        guard let token = try Self.url(value["token_endpoint"]),
            let coding = ChappieAuthorizationServer.BodyCoding(rawValue: try Self.required(value["body_coding"]))
        else { throw Damage() }
        return Endpoints(token: token, revocation: try Self.url(value["revocation_endpoint"]), bodyCoding: coding)
    }

    private static func url(_ value: ChappieJSONValue?) throws(Damage) -> URL? {
        guard let text = try Self.optional(value) else { return nil }
        guard let url = URL(string: text) else { throw Damage() }
        return url
    }

    private static func date(_ value: ChappieJSONValue?) throws(Damage) -> Date? {
        switch value {
        case nil, .null: return nil
        case .number(let seconds) where Self.range.contains(seconds): return Date(timeIntervalSince1970: seconds)
        default: throw Damage()
        }
    }

    /// From 1970 to the year 9999.
    private static let range = 0...253_402_300_799.0

    /// Returns a date as a number that JSON can represent, clamped to the range.
    private static func seconds(_ date: Date) -> Double {
        let seconds = date.timeIntervalSince1970
        return seconds.isNaN ? 0 : min(max(seconds, Self.range.lowerBound), Self.range.upperBound)
    }
}
