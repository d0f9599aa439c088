/// The other tasks of the program.
enum OtherTasks {
    /// Lets other tasks work, once.
    ///
    /// Not inlined: the size of a `CheckedContinuation` is known only at run time, and its caller would allocate for it
    /// with every event.
    @inline(never)
    nonisolated(nonsending) static func run() async {
        // `Task.yield` bypasses the hook with which programs keep their tasks on one thread.
        await withCheckedContinuation { continuation in
            Task.detached { continuation.resume() }
        }
    }
}
