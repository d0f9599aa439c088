// The speed of a copy of the same bytes, which no parser that reads and copies them can exceed.

import BenchmarkResults
import CMachine

/// `memcpy` in pieces of 16 KiB to one buffer, over the beginning of a corpus.
///
/// It copies as much of it as a core's own cache holds, again and again: the speed of main memory depends on the other
/// cores of the machine.
struct MachineLimit {
    /// The bytes a second of each pass.
    let speeds: [Double]

    /// The bytes of the corpus that a pass copies, and the copies of a pass, which takes about a millisecond.
    private static let (byteCount, passCount) = (256 << 10, 128)
    private static let pieceByteCount = 16 << 10

    /// Measures it over a stream.
    init(bytes: UnsafeRawBufferPointer, stopwatch: Stopwatch) {
        let bytes = UnsafeRawBufferPointer(rebasing: bytes.prefix(Self.byteCount))
        let room = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Self.pieceByteCount + Int(CMACHINE_PLACE_COUNT), alignment: 64)
        defer { room.deallocate() }
        let target = cmachine_place(room.baseAddress, bytes.baseAddress)
        func copy() { cmachine_copy(target, bytes.baseAddress, bytes.count, Self.pieceByteCount) }
        copy()
        self.speeds = stopwatch.speeds(of: bytes.count * Self.passCount) {
            Stopwatch.measure { for _ in 0..<Self.passCount { copy() } }
        }
    }

    /// The figure for the results, beside a workload.
    func figure(workload: Workload) -> ResultFigure {
        ResultFigure(
            group: "parser", workload: workload.name, subject: ResultFigure.machineSubject,
            way: "memcpy, 16 KiB at a time", measure: "throughput", unit: "bytes/s", better: .higher, runs: self.speeds)
    }
}
