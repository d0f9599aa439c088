/// A type of the standard library that JSON has a form for.
protocol SchemaPrimitive {
    /// The schema of the type.
    static var schemaNode: SchemaNode { get }
    /// The recording decoder's value.
    static var recordedValue: Self { get }
}

extension String: SchemaPrimitive {
    static var schemaNode: SchemaNode { .string }
    static var recordedValue: String { "" }
}

extension Bool: SchemaPrimitive {
    static var schemaNode: SchemaNode { .boolean }
    static var recordedValue: Bool { false }
}

extension SchemaPrimitive where Self: BinaryFloatingPoint {
    static var schemaNode: SchemaNode { .number }
    static var recordedValue: Self { 0 }
}

extension SchemaPrimitive where Self: FixedWidthInteger {
    static var schemaNode: SchemaNode { .integer }
    static var recordedValue: Self { 0 }
}

extension Double: SchemaPrimitive {}
extension Float: SchemaPrimitive {}
extension Int: SchemaPrimitive {}
extension Int8: SchemaPrimitive {}
extension Int16: SchemaPrimitive {}
extension Int32: SchemaPrimitive {}
extension Int64: SchemaPrimitive {}
extension UInt: SchemaPrimitive {}
extension UInt8: SchemaPrimitive {}
extension UInt16: SchemaPrimitive {}
extension UInt32: SchemaPrimitive {}
extension UInt64: SchemaPrimitive {}
