// The members of a call, beside its name and its arguments, that a server demands back. A value that the call owns.

import CSimdjson

/// Members of a call of a chat completion that go back with it.
///
/// Gemini's servers refuse a call without the signature that it came with: Google's have it in `extra_content`, with
/// `google` or `vertex` inside (reported: securo-finance/securo issue 884, earendil-works/pi issue 6733), and gateways
/// as `thought_signature` (reported: tashfeenahmed/freellmapi pull request 1093). No other member is kept: Mistral refuses those that it does not know (reported:
/// zeroclaw-labs/zeroclaw issue 2693).
struct ChatCallMembers {
    private static let names: [StaticString] = ["extra_content", "thought_signature"]

    private var ofCall = JSONObjectText()
    private var ofFunction = JSONObjectText()

    /// Takes the members of a piece of a call, the newest of each name; returns the number of bytes that are added.
    mutating func take(_ piece: Int, _ nodes: UnsafeBufferPointer<csj_node>) -> Int {
        let count = Self.take(piece, nodes, into: &self.ofCall)
        guard let function = nodes.member("function", of: piece) else { return count }
        return count + Self.take(function, nodes, into: &self.ofFunction)
    }

    /// The members as an object; nil without any.
    var json: [UInt8]? {
        var object = self.ofCall
        if !self.ofFunction.members.isEmpty { object["function"] = self.ofFunction.json[...] }
        return object.members.isEmpty ? nil : object.json
    }

    private static func take(
        _ object: Int, _ nodes: UnsafeBufferPointer<csj_node>, into members: inout JSONObjectText
    ) -> Int {
        var count = 0
        for name in Self.names {
            guard let place = nodes.member(name, of: object), nodes[place].json.count > 0 else { continue }
            let isText = nodes[place].kind == csj_kind_string
            let value =
                isText ? Array("\"".utf8) + nodes[place].content + Array("\"".utf8) : Array(nodes[place].content)
            count += value.count - (members[name.description]?.count ?? 0)
            members[name.description] = value[...]
        }
        return count
    }
}
