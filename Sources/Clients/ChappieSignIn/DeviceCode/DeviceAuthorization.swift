import ChappieTransport
import PlatformFoundation

/// The server's answer to a device authorization request (RFC 8628 section 3.2).
struct DeviceAuthorization: Sendable, Equatable {
    /// The identifier in polls: `device_code`, or `device_auth_id`; 1 to 4,096 bytes.
    let deviceCode: String
    /// The code for the user: 1 to 64 characters of printable ASCII.
    let userCode: String
    /// The page on which the user enters the code.
    let verificationURL: URL
    /// The same with the code in it.
    let completeVerificationURL: URL?
    /// The time between two polls: 1 s to 1 h, and 5 s where the server does not specify it.
    let interval: Duration
    /// The lifetime of the code by the server; nil when it is missing or implausible.
    let lifetime: Duration?

    /// The range of intervals, in seconds, which limits the load of the server and the wait of the user.
    private static let intervals: ClosedRange<Double> = 1...3_600
    /// The most bytes of a device code, which each poll sends.
    private static let deviceCodeByteLimit = 4_096
    /// The most bytes of a URL that can be shown.
    private static let urlByteLimit = 2_048

    /// Reads the answer of a server; `date` is the current date.
    ///
    /// Throws `invalidResponse`, and for a refusal `unknown`.
    init(
        _ answer: FetchedDocument, of grant: ChappieAuthorizationServer.DeviceGrant, date: Date
    ) throws(ChappieAuthError) {
        guard (200..<300).contains(answer.statusCode) else { throw Self.refusal(answer, of: grant) }
        guard let text = String(validating: answer.body, as: UTF8.self),
            let members = ChappieJSONValue(jsonText: text)
        else { throw .invalidResponse }
        switch grant {
        case .standard:
            guard let url = Self.url((members["verification_uri"] ?? members["verification_url"])?.string) else {
                throw .invalidResponse
            }
            self.deviceCode = try Self.deviceCode(members["device_code"])
            self.verificationURL = url
            self.completeVerificationURL = try members["verification_uri_complete"]?.string
                .map { text throws(ChappieAuthError) in
                    guard let url = Self.url(text) else { throw ChappieAuthError.invalidResponse }
                    return url
                }
        case .authorizationCode(_, _, let verification, _):
            self.deviceCode = try Self.deviceCode(members["device_auth_id"])
            self.verificationURL = verification
            self.completeVerificationURL = nil
        }
        self.userCode = try Self.userCode(members["user_code"] ?? members["usercode"])
        self.interval = Self.interval(members["interval"])
        self.lifetime = Self.lifetime(members, date: date)
    }

    // MARK: Members

    private static func deviceCode(_ value: ChappieJSONValue?) throws(ChappieAuthError) -> String {
        guard let code = value?.string, (1...Self.deviceCodeByteLimit).contains(code.utf8.count) else {
            throw .invalidResponse
        }
        return code
    }

    /// Returns the user code, which is printed on a terminal and must not contain control characters.
    private static func userCode(_ value: ChappieJSONValue?) throws(ChappieAuthError) -> String {
        guard let code = value?.string, (1...64).contains(code.utf8.count), code.first != " ", code.last != " ",
            code.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { throw .invalidResponse }
        return code
    }

    /// Returns a URL for printing and opening: printable ASCII, http or https, and without user information.
    private static func url(_ text: String?) -> URL? {
        guard let text, text.utf8.count <= Self.urlByteLimit, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased()),
            url.host()?.isEmpty == false, url.user() == nil
        else { return nil }
        return url
    }

    private static func interval(_ value: ChappieJSONValue?) -> Duration {
        guard let seconds = Self.seconds(value), seconds >= 0 else { return .seconds(5) }
        return .seconds(min(max(seconds, Self.intervals.lowerBound), Self.intervals.upperBound))
    }

    /// Returns `expires_in`, or `expires_at` where that is plausible, because this machine's date may be wrong.
    private static func lifetime(_ members: ChappieJSONValue, date: Date) -> Duration? {
        if let seconds = Self.seconds(members["expires_in"]), seconds > 0 { return .seconds(min(seconds, 86_400)) }
        guard let end = members["expires_at"].flatMap({ Self.date($0) }) else { return nil }
        let seconds = end.timeIntervalSince(date)
        return (60...86_400).contains(seconds) ? .seconds(seconds) : nil
    }

    private static func date(_ value: ChappieJSONValue) -> Date? {
        if let seconds = Self.seconds(value) { return Date(timeIntervalSince1970: seconds) }
        return value.string.flatMap { text in
            (try? Date.ISO8601FormatStyle().parse(text))
                ?? (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
        }
    }

    /// Returns seconds; some servers write numbers as texts.
    private static func seconds(_ value: ChappieJSONValue?) -> Double? {
        (value?.number ?? value?.string.flatMap { Double($0) }).flatMap { $0.isFinite ? $0 : nil }
    }

    // MARK: Refusals

    private static func refusal(
        _ answer: FetchedDocument, of grant: ChappieAuthorizationServer.DeviceGrant
    ) -> ChappieAuthError {
        if case .authorizationCode = grant, answer.statusCode == 404 {
            return .unknown("Device login is not enabled for this account or workspace.")
        }
        let code = AuthorizationRefusal(body: answer.body).shownCode.map { ", \($0)" } ?? ""
        return .unknown("The authorization server gave no device code (status code \(answer.statusCode)\(code)).")
    }
}
