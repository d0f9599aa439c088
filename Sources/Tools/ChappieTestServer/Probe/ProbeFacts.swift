// The facts about a request that a probe server states: names and kinds, no value of a field and no address. Pure.

/// The answer that tells what has arrived.
enum ProbeFacts {
    /// The field by which an answer is known to be a probe server's.
    static let field = ChappieTestServer.Field(name: "x-chappie-probe", value: "1")
    /// The most names of fields that are told.
    private static let nameLimit = 64

    /// Returns the JSON text: a list of models without any, the version of HTTP, the family of the client's address,
    /// the facts of its TLS, and the names of the fields.
    static func text(of request: HTTPRequest, family: IPFamily?, tls: ClientTLS?) -> String {
        let names = request.fields.prefix(Self.nameLimit).map { JSONValue.quoted($0.name.lowercased()) }
        let members = [
            "\"http\":\"1.\(request.minorVersion)\"", "\"family\":\(Self.text(family?.rawValue))",
            "\"tls\":\(Self.text(of: tls))", "\"fields\":[\(names.joined(separator: ","))]",
        ]
        return "{\"object\":\"list\",\"data\":[],\"probe\":{\(members.joined(separator: ","))}}"
    }

    private static func text(of tls: ClientTLS?) -> String {
        guard let tls else { return "null" }
        let digest = tls.helloDigest.map { digest in
            let digits = String(digest, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        let members = [
            "\"version\":\(Self.text(tls.version))", "\"cipherSuite\":\(Self.text(tls.cipherSuite))",
            "\"hello\":\(Self.text(digest))",
        ]
        return "{\(members.joined(separator: ","))}"
    }

    private static func text(_ text: String?) -> String { text.map { JSONValue.quoted($0) } ?? "null" }

    /// Returns the value of the field `date` (IMF-fixdate, RFC 9110 section 5.6.7), by which the client judges its
    /// clock.
    static func date(secondsSince1970 seconds: Int) -> String {
        let days = seconds / 86_400
        // The days of the Gregorian calendar, whose years begin with March here, in eras of 400 years.
        let (era, day) = (days + 719_468).quotientAndRemainder(dividingBy: 146_097)
        let yearOfEra = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let dayOfMonth = dayOfYear - (153 * month + 2) / 5 + 1
        let year = era * 400 + yearOfEra + (month >= 10 ? 1 : 0)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let time = [seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60].map(two).joined(separator: ":")
        return "\(Self.weekdays[days % 7]), \(two(dayOfMonth)) \(Self.months[month]) \(year) \(time) GMT"
    }

    /// The days of the week, from that of the first of January 1970.
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    /// The months, from March.
    private static let months = ["Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "Jan", "Feb"]
}
