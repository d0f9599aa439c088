/// The meaning of a server's error for the journal.
///
/// Codes are the first words of the server's errors. The words behind them may repeat arguments, so that of most errors
/// only the code is told on.
package enum RedisRefusal {
    /// The first word of an error, as `WRONGTYPE`.
    package static func code(of error: String) -> String {
        // Before version 7, errors of commands in scripts had the script's words in front of them.
        for code in Self.codes
        where error.hasPrefix(code + " ") || error == code || error.contains(": \(code) ")
            || error.contains(": -\(code) ")
        {
            return code
        }
        // The words of a script's command that the user may not run.
        if error.contains("ACL failure in script") || error.contains("user executing the script can't") {
            return "NOPERM"
        }
        let word = error.prefix { $0 != " " }
        return !word.isEmpty && word.utf8.count <= 32 && word.utf8.allSatisfy({ (0x41...0x5a).contains($0) })
            ? String(word) : "ERR"
    }

    private static let codes = [
        "WRONGTYPE", "OOM", "READONLY", "MISCONF", "NOPERM", "NOAUTH", "MOVED", "LOADING", "CLUSTERDOWN", "NOREPLICAS",
    ]

    /// Returns the journal's error for the server's words, and for its host and port.
    package static func failure(_ error: String, at place: String) -> ChappieJournalError {
        switch self.code(of: error) {
        case "ERR" where self.isOfScript(error):
            .damaged("\(place): a stream's keys are another program's or version's")
        case "WRONGTYPE": .damaged("\(place): a key of a stream has a value of another type (WRONGTYPE)")
        case let code: .unavailable("\(place): \(self.words(for: code, error))")
        }
    }

    /// Indicates whether a script stopped at what it found in the keys.
    private static func isOfScript(_ error: String) -> Bool {
        error.contains("user_script") && !error.lowercased().contains("unknown redis command")
    }

    /// Returns the reason for which a new connection cannot be used, after an error of `AUTH` or `SELECT`.
    package static func reason(ofGreeting error: String) -> String {
        switch self.code(of: error) {
        case "ERR" where error.contains("DB index"): "the server has no database of this number (SELECT)"
        // The server's words may have the user's name.
        case "ERR": "the server refused the login (AUTH): it has no password for the user, or is older than version 6"
        case let code: self.words(for: code, error)
        }
    }

    private static func words(for code: String, _ error: String) -> String {
        switch code {
        case "NOAUTH": "the server wants a password (NOAUTH): put user and password into the URL"
        case "WRONGPASS": "the server refused the user or the password (WRONGPASS): correct those in the URL"
        case "NOPERM":
            "the user may not do this (NOPERM): give it ~PREFIX:* &PREFIX:* +@read +@write +@scripting +@pubsub +@connection +time"
        case "LOADING": "the server is loading its data (LOADING)"
        case "OOM": "the server's memory is full (OOM)"
        case "READONLY": "the server is a replica, which cannot be written to (READONLY)"
        case "MISCONF": "the server cannot save its data and takes no writes (MISCONF)"
        case "BUSY": "the server is busy with a script (BUSY)"
        case "MASTERDOWN": "the server has lost its master (MASTERDOWN)"
        case "NOREPLICAS": "the server has too few replicas to take writes (NOREPLICAS)"
        case "CLUSTERDOWN": "the cluster is down (CLUSTERDOWN)"
        case "MOVED", "ASK":
            "the server is one of a Redis Cluster (\(code)), whose other servers the journal cannot reach: use a "
                + "server or a proxy that has all slots"
        case "ERR" where error.hasPrefix("ERR max number of clients"): "the server has no room for another client"
        case "ERR" where error.hasPrefix("ERR unknown command"): "the server does not know a command that is needed"
        default: "the server answered with the error \(code)"
        }
    }
}
