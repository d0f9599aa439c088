// Invariant: on any bytes, the decoder says what a plain reader of RFC 8259 says, in every field it reads, and both
// accept what Foundation accepts and with the same values, but for the differences that `FoundationCheck` names.
// Bytes behind the input, and input decoded before, have no influence. The canonical form of the bytes is the one that
// the plain reader's values give, and the form of a canonical text is itself.
//
// Every input is decoded alone and behind a sibling; the plain reader, Foundation and the other checks see a share.

import Invariants
import ResponseEvents

/// Called by libFuzzer for each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzResponseEvents(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count)
    let bytes = Array(input)
    guard FuzzDepth.reachesModels(InputHash(input)) else {
        DecodedEvent.checkSibling(of: bytes)
        return 0
    }
    var reader = StrictJSON(bytes)
    let node: JSONNode?
    do throws(StrictJSONError) {
        node = try reader.read()
    } catch {
        // Foundation's result for such a text is unknown, and the decoder must refuse it.
        if error == .unreadablyDeep { return refuse(bytes) }
        node = nil
    }
    FoundationCheck(bytes).compare(with: node, depth: reader.depth)
    check(DecodedEvent(bytes), is: node, depth: reader.depth, in: bytes)
    checkErrorBody(node, depth: reader.depth, in: bytes)
    checkCanonicalForm(node, depth: reader.depth, of: bytes)
    bytes.withUnsafeBufferPointer { bytes in
        let isUTF8 = String(validating: bytes, as: UTF8.self) != nil
        require((BorrowedText(validating: bytes) != nil) == isUTF8, "validity of UTF-8")
    }
    return 0
}

/// Called by libFuzzer to change an input.
@_cdecl("LLVMFuzzerCustomMutator")
public func mutateEvent(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int, _ seed: CUnsignedInt) -> Int {
    TokenMutator.mutate(bytes, count, limit: limit, seed: seed)
}

private func refuse(_ bytes: [UInt8]) -> CInt {
    let error = DecodedEvent(bytes).facts["error"]
    require(["tooDeep", "notJSON", "invalidUTF8"].contains(error), "nesting without end is accepted")
    return 0
}

private func check(_ event: DecodedEvent, is node: JSONNode?, depth: Int, in bytes: [UInt8]) {
    guard let node, depth <= ResponseEventOracle.maximumDepth else {
        let expected = node == nil ? expectedErrors(of: bytes, depth: depth) : ["tooDeep"]
        return require(expected.contains(event.facts["error"] ?? ""), "\(event.facts), and not \(expected)")
    }
    let expected = ResponseEventOracle(bytes).facts(of: node)
    require(event.facts.isEqual(expected), "\(event.facts), and not \(expected)")
}

/// The errors that bytes which are no JSON may have; `depth` is what was seen of their nesting.
private func expectedErrors(of bytes: [UInt8], depth: Int) -> Set<String> {
    let isUTF8 = String(validating: bytes, as: UTF8.self) != nil
    var errors: Set<String> = depth > ResponseEventOracle.maximumDepth ? ["notJSON", "tooDeep"] : ["notJSON"]
    if !isUTF8 {
        errors.insert("invalidUTF8")
        var repaired = StrictJSON(Array(String(decoding: bytes, as: UTF8.self).utf8))
        // What is JSON but for its encoding is told apart.
        if (try? repaired.read()) != nil { errors = ["invalidUTF8"] }
    }
    return errors
}

private func checkErrorBody(_ node: JSONNode?, depth: Int, in bytes: [UInt8]) {
    var expected: EventFacts = [:]
    let oracle = ResponseEventOracle(bytes)
    if let node, depth <= ResponseEventOracle.maximumDepth, let body = oracle.errorBody(node) {
        expected = oracle.serverError(body)
    }
    let found = ServerErrorFacts(body: bytes)
    require(found.map(EventFacts.init(_:))?.isEqual(expected) ?? expected.values.isEmpty, "error facts: \(expected)")
}

private func checkCanonicalForm(_ node: JSONNode?, depth: Int, of bytes: [UInt8]) {
    let found = CanonicalJSON.bytes(of: bytes)
    guard let node, depth <= CanonicalJSON.maximumDepth else {
        return require(found == bytes, "what is no JSON text is changed")
    }
    let expected = Array(CanonicalOracle(bytes).text(of: node).utf8)
    require(found == expected, "canonical form: \(String(decoding: found, as: UTF8.self))")
    require(CanonicalJSON.bytes(of: found) == found, "the canonical form has another one")
}
