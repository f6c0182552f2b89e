/// The id of a request: a number, a string or null, kept as it was written, since an answer has to repeat it.
///
/// Valid as long as the line it comes from.
public struct RequestID {
    private let view: JSONView

    /// Nil when the value cannot be an id.
    init?(_ view: JSONView) {
        switch view.kind {
        case .null, .number, .string: self.view = view
        case .bool, .array, .object: return nil
        }
    }

    /// The id in JSON, as it was written.
    public var raw: UnsafeRawBufferPointer { view.raw }

    /// The id as a whole number; nil when it is none.
    public var int: Int64? { view.int }
}
