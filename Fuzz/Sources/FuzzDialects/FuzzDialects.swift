// Invariant: whatever a server of Chat Completions or of Messages sends, its decoder emits only events that the decoder of
// the Responses API reads, of items that were announced, with one end at most. An item is finished only together with a
// completed answer, which a stated end proves, and no finished call has arguments that were cut. The text, the reasoning
// and the refusal are those that a slow reader of the same events adds up. What is emitted is linear in what was read. The
// same events in a fresh decoder, in other memory and with others between them that say nothing, give the same bytes.
//
// Every input is decoded twice and what is emitted is checked; the slow reader sees a share.

import Invariants

/// Called by libFuzzer for each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzDialects(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count)
    let answer = ServerAnswer(input)
    let run = DecoderRun(answer, padding: 0)
    let again = DecoderRun(answer, padding: UInt8(ascii: "\""), isDisturbed: true)
    require(run.steps == again.steps, "\(again.steps) in a fresh decoder, not \(run.steps)")
    let emitted = EmittedAnswer(run)
    if FuzzDepth.reachesModels(InputHash(input)) { AnswerCheck(answer, run).compare(with: emitted) }
    return 0
}

/// Called by libFuzzer to change an input.
@_cdecl("LLVMFuzzerCustomMutator")
public func mutateAnswer(
    _ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int, _ seed: CUnsignedInt
) -> Int {
    TokenMutator.mutate(bytes, count, limit: limit, seed: seed)
}
