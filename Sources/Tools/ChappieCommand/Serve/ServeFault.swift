// The short grammar of `--fault`: `reset@700:to-server#2`. Pure.
import ChappieTestServer

/// Reads one fault of the proxy.
///
/// A name, followed by parts in any order, each of which begins with its own sign.
struct ServeFault {
    /// The fault.
    let fault: FaultProxy.Fault

    /// A part, by the sign that begins it.
    private enum Part: Character, CaseIterable {
        case byte = "@"
        case time = "+"
        case value = "="
        case mask = "^"
        case direction = ":"
        case connections = "#"

        /// The part as the help shows it.
        var spelling: String {
            switch self {
            case .byte: "@BYTE"
            case .time: "+TIME"
            case .value: "=N"
            case .mask: "^HH"
            case .direction: ":to-client or :to-server"
            case .connections: "#N"
            }
        }
    }

    /// A fault's name and its required and optional parts, apart from `#`.
    private struct Form {
        let name: String
        var needs: [Part] = []
        var allows: [Part] = []
    }

    private static let forms = [
        Form(name: "cut", needs: [.byte], allows: [.direction]),
        Form(name: "reset", needs: [.byte], allows: [.direction]),
        Form(name: "half-open", needs: [.byte], allows: [.direction]),
        Form(name: "stall", needs: [.byte], allows: [.time, .direction]),
        Form(name: "slice", needs: [.value], allows: [.byte, .direction]),
        Form(name: "throttle", needs: [.value], allows: [.byte, .direction]),
        Form(name: "corrupt", needs: [.byte], allows: [.mask, .direction]),
        Form(name: "refuse"), Form(name: "silence"), Form(name: "delay", needs: [.time]),
    ]

    /// Reads a fault, or throws its error.
    init(_ text: String) throws(UsageError) {
        let parser = Parser(text)
        let form = try parser.form()
        let parts = try parser.parts(form)
        self.fault = try parser.fault(form, parts)
    }

    private struct Parser {
        let text: String

        init(_ text: String) { self.text = text }

        func error(_ message: String) -> UsageError { UsageError("option --fault \(self.text): \(message)") }

        private static func isSign(_ character: Character) -> Bool { Part(rawValue: character) != nil }

        func form() throws(UsageError) -> Form {
            let name = String(self.text.prefix { !Self.isSign($0) })
            if let form = ServeFault.forms.first(where: { $0.name == name }) { return form }
            let nearest = EditDistance.nearest(to: name, among: ServeFault.forms.map(\.name)) ?? "cut"
            throw self.error("there is no fault '\(name)'; did you mean \(nearest)?")
        }

        func parts(_ form: Form) throws(UsageError) -> [Part: String] {
            var parts: [Part: String] = [:]
            var rest = self.text.drop { !Self.isSign($0) }
            while let sign = rest.popFirst(), let part = Part(rawValue: sign) {
                let value = rest.prefix { !Self.isSign($0) }
                rest = rest.dropFirst(value.count)
                guard form.needs.contains(part) || form.allows.contains(part) || part == .connections else {
                    throw self.error("\(form.name) takes no \(part.spelling)")
                }
                guard parts.updateValue(String(value), forKey: part) == nil else {
                    throw self.error("\(part.spelling) is there twice")
                }
            }
            if let missing = form.needs.first(where: { parts[$0] == nil }) {
                throw self.error("\(form.name) needs \(missing.spelling)")
            }
            return parts
        }

        func fault(_ form: Form, _ parts: [Part: String]) throws(UsageError) -> FaultProxy.Fault {
            var fault = FaultProxy.Fault(try self.action(form.name, parts), direction: try self.direction(parts))
            if let connections = parts[.connections] { try self.choose(connections, for: &fault) }
            do throws(FormError) {
                try FaultProxy.Plan([fault]).validate()
            } catch {
                let member = error.member.split(separator: ".").last.map(String.init) ?? error.member
                throw self.error(FormError(member: member, problem: error.problem).description)
            }
            return fault
        }

        private func action(_ name: String, _ parts: [Part: String]) throws(UsageError) -> ConnectionFault {
            let byte = try self.number(parts, .byte) ?? 0
            switch name {
            case "cut": return .cut(atByte: byte)
            case "reset": return .cut(atByte: byte, with: .reset)
            case "half-open": return .halfOpen(atByte: byte)
            case "stall": return .stall(atByte: byte, for: try self.duration(parts))
            case "slice": return .slice(byteCount: try self.number(parts, .value) ?? 1, fromByte: byte)
            case "throttle": return .throttle(bytesPerSecond: try self.rate(parts), fromByte: byte)
            case "corrupt": return .corrupt(atByte: byte, mask: try self.mask(parts))
            case "refuse": return .refuse
            case "silence": return .silence
            default: return .delay(try self.duration(parts) ?? .zero)
            }
        }

        private func number(_ parts: [Part: String], _ part: Part) throws(UsageError) -> Int? {
            guard let text = parts[part] else { return nil }
            guard let number = Int(text), text.first?.isNumber == true else {
                throw self.error("\(part.spelling) needs a whole number, not '\(text)'")
            }
            return number
        }

        private func rate(_ parts: [Part: String]) throws(UsageError) -> Double {
            let text = parts[.value] ?? ""
            guard let rate = Double(text), rate.isFinite else {
                throw self.error("=N needs a number of bytes a second, not '\(text)'")
            }
            return rate
        }

        private func mask(_ parts: [Part: String]) throws(UsageError) -> UInt8 {
            guard let text = parts[.mask] else { return 0xFF }
            guard let mask = UInt8(text, radix: 16), text.first != "+" else {
                throw self.error("^HH needs two hexadecimal digits, not '\(text)'")
            }
            return mask
        }

        private func duration(_ parts: [Part: String]) throws(UsageError) -> Duration? {
            guard let text = parts[.time] else { return nil }
            let unit = String(text.drop { $0.isNumber || $0 == "." })
            let amount = Double(text.dropLast(unit.count))
            guard let amount, let scale = ["ms": 0.001, "s": 1, "m": 60][unit], amount * scale <= 31_536_000 else {
                throw self.error("+TIME needs a time such as 200ms, 2s or 1m, not '\(text)'")
            }
            return .seconds(amount * scale)
        }

        private func direction(_ parts: [Part: String]) throws(UsageError) -> FaultProxy.Direction {
            switch parts[.direction] {
            case nil, "to-client": return .toClient
            case "to-server": return .toServer
            case .some(let name):
                let nearest = EditDistance.nearest(to: name, among: ["to-client", "to-server"]) ?? "to-client"
                throw self.error("there is no direction '\(name)'; did you mean \(nearest)?")
            }
        }

        /// Reads `2`, `2-5`, or `2-` for the second and all later ones.
        private func choose(_ text: String, for fault: inout FaultProxy.Fault) throws(UsageError) {
            let ends = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false).map { Int($0) }
            let isOpen = ends.count == 2 && text.hasSuffix("-")
            guard let first = ends[0], first >= 1, ends.count == 1 || isOpen || ends[1].map({ $0 >= first }) == true
            else {
                throw self.error("#N needs connections counted from 1, such as 2, 2-5 or 2-, not '\(text)'")
            }
            fault.firstConnection = first
            fault.lastConnection = ends.count == 1 ? first : ends[1]
        }
    }
}

extension ServeFault {
    /// The grammar as the help shows it.
    static let help = CommandSyntax.Section(
        title: "Faults of the proxy",
        rows: [
            ("cut@N", "end the stream (FIN) after N bytes; the other direction goes on"),
            ("reset@N", "reset both sides (RST) when the receiver has N bytes"),
            ("half-open@N", "after N bytes neither read, write nor close anything"),
            ("stall@N[+TIME]", "after N bytes deliver nothing for a time, or for ever"),
            ("slice=K[@N]", "at most K bytes a write, from byte N on"),
            ("throttle=R[@N]", "at most R bytes a second, from byte N on"),
            ("corrupt@N[^HH]", "flip the bits HH of byte N; default ff"),
            ("refuse", "accept and reset at once"),
            ("silence", "accept and never answer"),
            ("delay+TIME", "connect to the server only after a time"),
            (":to-client, :to-server", "after a fault that counts bytes: the direction; default :to-client"),
            ("#2, #2-5, #2-", "after any fault: the connections, counted from 1; default all"),
        ],
        note: "TIME is a number with ms, s or m. Bytes count from 0 for each connection and direction; TLS's own "
            + "count. Several faults act in the order of their bytes. Example: --fault 'stall@500+2s#1' --fault "
            + "'reset@1234:to-server#2-'."
    )
}
