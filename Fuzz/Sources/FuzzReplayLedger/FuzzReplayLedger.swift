// Invariant: the ledger gives the verdicts of a model that keeps every byte with its slot and compares one by one, and
// delivers what it delivers, for any program of deltas, tool calls, raw events, closing texts, replays, settlings and
// ends. How the deltas are cut makes no difference to what is delivered, and a remainder begins on a scalar boundary.
//
// Every program is run beside the model, which decides what comes next; a share is cut in other ways, and may have more
// raw events than the ledger counts.

import Foundation
import Invariants
import StreamSession

/// Called by libFuzzer for each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzReplayLedger(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count)
    let isDeep = FuzzDepth.reachesModels(InputHash(input))
    var program = LedgerProgram(Array(input), mayFlood: isDeep)
    var run = LedgerRun()
    var operations: [LedgerOperation] = []
    while let next = program.next(for: run.model) {
        for operation in next { run.perform(operation) }
        operations += next
    }
    run.compareOutput()
    guard isDeep else { return 0 }
    for cut in [LedgerCut.scalars, .merged, .random] {
        var other = LedgerRun()
        for operation in cut.applied(to: operations) { other.perform(operation) }
        other.compareOutput()
        require(other.delivered == run.delivered, "cut in another way (\(cut)), something else is delivered")
        require(other.completions == run.completions, "cut in another way (\(cut)), the response ends otherwise")
    }
    return 0
}

/// Ends the process when a condition does not hold.
func require(_ holds: Bool, _ what: @autoclosure () -> String) {
    guard !holds else { return }
    // An optimised build prints no message of its own, and standard output is lost in a crash.
    FileHandle.standardError.write(Data("broken: \(what())\n".utf8))
    preconditionFailure()
}
