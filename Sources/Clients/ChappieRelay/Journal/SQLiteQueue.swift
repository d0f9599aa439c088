import CSQLite
import Dispatch
import StreamTransport

/// Runs operations on a database one behind the other, those that wait together in one transaction.
///
/// May be used from any task; the database is used on the queue's own thread.
final class SQLiteQueue: Sendable {
    /// An operation and what is done behind it.
    struct Operation: Sendable {
        /// Runs it; throws `SQLiteDatabase.Failure` alone, with which its transaction ends.
        let body: @Sendable (SQLiteDatabase) throws -> Void
        /// Hands the result over, when the transaction is committed or has failed.
        let finish: @Sendable (SQLiteDatabase.Failure?) -> Void
    }

    /// The result of an operation, from its run to the end of its transaction.
    private final class Outcome<Value: Sendable>: Sendable {
        let value = LockedValue<Result<Value, any Error>?>(nil)
    }

    private struct State {
        var waiting: [Operation] = []
        var isScheduled = false
        var isShutDown = false
    }

    /// Carries the database to its queue, which alone uses it.
    private final class Owned: @unchecked Sendable {
        var database: SQLiteDatabase?
        init(_ database: SQLiteDatabase) { self.database = database }
    }

    /// A transaction longer than this would let the operations behind it wait for too long.
    private static let operationCountLimit = 512

    private let owned: Owned
    /// The statement with which a transaction begins.
    private let beginning: String
    private let queue = DispatchQueue(label: "chappie.journal.sqlite", qos: .userInitiated)
    private let state = LockedValue(State())

    /// Creates a queue that owns the database.
    ///
    /// Operations that write wait for the file's lock before they read; others see the last commit, whichever process
    /// has the lock.
    init(_ database: sending SQLiteDatabase, writes: Bool) {
        self.owned = Owned(database)
        self.beginning = writes ? "BEGIN IMMEDIATE" : "BEGIN"
    }

    /// Runs an operation and returns its result when it is committed.
    ///
    /// An operation that throws anything but a failure of the database must not have changed it before.
    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (SQLiteDatabase) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let outcome = Outcome<Value>()
            let operation = Operation(
                body: { database in
                    do {
                        let value = try body(database)
                        outcome.value.withLock { $0 = .success(value) }
                    } catch let failure as SQLiteDatabase.Failure {
                        throw failure
                    } catch {
                        outcome.value.withLock { $0 = .failure(error) }
                    }
                },
                finish: { failure in
                    if let failure { return continuation.resume(throwing: ChappieJournalError(failure)) }
                    guard let result = outcome.value.withLock({ $0 }) else {
                        return continuation.resume(throwing: ChappieJournalError.unavailable("it was shut down"))
                    }
                    continuation.resume(with: result)
                })
            self.enqueue(operation)
        }
    }

    /// Runs what waits, and closes the database; what comes later throws `unavailable`.
    func shutdown() async {
        await withCheckedContinuation { continuation in
            self.state.withLock { $0.isShutDown = true }
            self.queue.async {
                self.owned.database = nil
                continuation.resume()
            }
        }
    }

    private func enqueue(_ operation: Operation) {
        let schedules = self.state.withLock { state -> Bool? in
            guard !state.isShutDown else { return nil }
            state.waiting.append(operation)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        guard let schedules else { return operation.finish(nil) }
        if schedules { self.queue.async { self.work() } }
    }

    /// Runs the operations that wait, until none does.
    private func work() {
        while true {
            let operations = self.state.withLock { state in
                let next = Array(state.waiting.prefix(Self.operationCountLimit))
                state.waiting.removeFirst(next.count)
                if next.isEmpty { state.isScheduled = false }
                return next
            }
            if operations.isEmpty { return }
            guard let database = self.owned.database else {
                for operation in operations { operation.finish(nil) }
                continue
            }
            Self.run(operations, beginning: self.beginning, on: database)
        }
    }

    /// Runs operations in one transaction; each in its own, if one of them fails.
    ///
    /// `beginning` is the statement with which a transaction begins. The lock of another process is waited for in vain
    /// once: what is left then fails.
    static func run(_ operations: [Operation], beginning: String, on database: SQLiteDatabase) {
        var rest = operations[...]
        var count = rest.count
        while !rest.isEmpty {
            let failure = self.commit(rest.prefix(count), beginning: beginning, on: database)
            if let failure, failure.code == SQLITE_BUSY { return rest.forEach { $0.finish(failure) } }
            if failure != nil, count > 1 {
                count = 1
                continue
            }
            rest.prefix(count).forEach { $0.finish(failure) }
            rest = rest.dropFirst(count)
        }
    }

    /// Runs operations in one transaction; returns why it was rolled back, or nil.
    private static func commit(
        _ operations: ArraySlice<Operation>, beginning: String, on database: SQLiteDatabase
    ) -> SQLiteDatabase.Failure? {
        do throws(SQLiteDatabase.Failure) {
            try database.run(beginning)
        } catch {
            return error
        }
        do {
            for operation in operations { try operation.body(database) }
            try database.run("COMMIT")
            return nil
        } catch {
            try? database.run("ROLLBACK")
            return error as? SQLiteDatabase.Failure ?? SQLiteDatabase.Failure(code: SQLITE_ERROR, message: "\(error)")
        }
    }
}

extension ChappieJournalError {
    /// Creates the error of a failure of SQLite.
    init(_ failure: SQLiteDatabase.Failure) {
        switch failure.code {
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_SCHEMA, SQLITE_MISMATCH: self = .damaged(failure.message)
        default: self = .unavailable(failure.message)
        }
    }
}
