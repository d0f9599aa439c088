import CSQLite

/// A connection to an SQLite database, with its prepared statements.
///
/// It belongs to one queue, which calls it from one thread at a time.
final class SQLiteDatabase {
    /// A failure that SQLite reports.
    struct Failure: Error {
        /// The primary result code, such as `SQLITE_FULL`.
        let code: Int32
        /// SQLite's own words.
        let message: String
    }

    /// A value of a parameter or of a column.
    enum Value {
        case null
        case integer(Int)
        case text(String)
        case bytes([UInt8])
    }

    private let handle: OpaquePointer
    private var statements: [String: OpaquePointer] = [:]

    /// Opens a file, or creates it.
    init(path: String) throws(Failure) {
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        let code = sqlite3_open_v2(path, &handle, flags, nil)
        guard let handle else { throw Failure(code: SQLITE_NOMEM, message: "out of memory") }
        guard code == SQLITE_OK else {
            let message = String(cString: sqlite3_errmsg(handle))
            sqlite3_close_v2(handle)
            throw Failure(code: code & 0xff, message: message)
        }
        self.handle = handle
    }

    deinit {
        for statement in self.statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(self.handle)
    }

    /// The number of rows that the last statement changed.
    var changeCount: Int { Int(sqlite3_changes(self.handle)) }

    /// The row identifier of the last insertion.
    var lastRow: Int { Int(sqlite3_last_insert_rowid(self.handle)) }

    /// Sets the time for which a statement waits for another process's lock.
    func waitsForLocks(atMost duration: Duration) {
        sqlite3_busy_timeout(self.handle, Int32(clamping: Int(duration / .milliseconds(1))))
    }

    /// Runs a statement without rows.
    func run(_ sql: String, _ values: Value...) throws(Failure) {
        try self.rows(sql, values) { _ in false }
    }

    /// Returns the first row of a query, with as many columns as the query names; nil without a row.
    func row(_ sql: String, _ values: Value...) throws(Failure) -> [Value]? {
        var first: [Value]?
        try self.rows(sql, values) { row in
            first = row
            return false
        }
        return first
    }

    /// Gives the rows of a query to a closure, which returns false to end it.
    func rows(_ sql: String, _ values: [Value], _ body: ([Value]) -> Bool) throws(Failure) {
        let statement = try self.statement(sql)
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        for (index, value) in values.enumerated() { try self.bind(value, at: Int32(index + 1), of: statement) }
        while true {
            let code = sqlite3_step(statement)
            if code == SQLITE_DONE { return }
            guard code == SQLITE_ROW else { throw self.failure(code) }
            let row = (0..<sqlite3_column_count(statement)).map { Self.value(of: statement, column: $0) }
            guard body(row) else { return }
        }
    }

    private func statement(_ sql: String) throws(Failure) -> OpaquePointer {
        if let known = self.statements[sql] { return known }
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v2(self.handle, sql, -1, &statement, nil)
        guard code == SQLITE_OK, let statement else { throw self.failure(code) }
        self.statements[sql] = statement
        return statement
    }

    private func bind(_ value: Value, at index: Int32, of statement: OpaquePointer) throws(Failure) {
        // SQLite copies the bytes (SQLITE_TRANSIENT).
        let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        let code =
            switch value {
            case .null: sqlite3_bind_null(statement, index)
            case .integer(let number): sqlite3_bind_int64(statement, index, Int64(number))
            case .text(let text): sqlite3_bind_text(statement, index, text, -1, copies)
            case .bytes(let bytes):
                bytes.isEmpty
                    ? sqlite3_bind_zeroblob(statement, index, 0)
                    : sqlite3_bind_blob64(statement, index, bytes, UInt64(bytes.count), copies)
            }
        guard code == SQLITE_OK else { throw self.failure(code) }
    }

    private static func value(of statement: OpaquePointer, column: Int32) -> Value {
        switch sqlite3_column_type(statement, column) {
        case SQLITE_INTEGER: return .integer(Int(sqlite3_column_int64(statement, column)))
        case SQLITE_TEXT:
            guard let text = sqlite3_column_text(statement, column) else { return .text("") }
            return .text(String(cString: text))
        case SQLITE_BLOB:
            let count = Int(sqlite3_column_bytes(statement, column))
            guard let bytes = sqlite3_column_blob(statement, column) else { return .bytes([]) }
            return .bytes(Array(UnsafeRawBufferPointer(start: bytes, count: count)))
        default: return .null
        }
    }

    private func failure(_ code: Int32) -> Failure {
        Failure(code: code & 0xff, message: String(cString: sqlite3_errmsg(self.handle)))
    }
}

extension SQLiteDatabase.Value {
    /// The number; 0 for another type.
    var number: Int {
        if case .integer(let number) = self { number } else { 0 }
    }

    /// The text; nil for another type.
    var string: String? {
        if case .text(let text) = self { text } else { nil }
    }

    /// The bytes; empty for another type.
    var content: [UInt8] {
        if case .bytes(let bytes) = self { bytes } else { [] }
    }

    /// Creates a text, or null for none.
    static func optional(_ text: String?) -> Self { text.map { .text($0) } ?? .null }
}
