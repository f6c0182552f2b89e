import HeadgateData

/// Which cycle of a barrier somebody belongs to (Behaviour A3): of those who come with the same identity, the first starts
/// the barrier and the others join it.
struct CycleIdentity: Hashable {
    private let name: ExactName
    var board: String { name.text }
    private let variant: Variant
    /// Nil where the cycle is the whole service's.
    private let mainboard: ExactName?

    private enum Variant: Hashable {
        case shared
        case input(CanonicalJSON)
        case own(activation: Int)
    }

    /// The identity of a barrier before one activation.
    init(_ barrier: ActivationBarrier, before activation: Activation) {
        name = ExactName(barrier.board)
        mainboard = barrier.scope == .main ? ExactName(activation.request.mainboard) : nil
        switch barrier.option {
        case .void: variant = .shared
        case .unique: variant = .input(CanonicalJSON(activation.request.comparedInput ?? activation.request.input))
        case .each: variant = .own(activation: activation.id)
        }
    }

    /// Roughly the bytes that it takes to remember it.
    var weight: Int {
        guard case .input(let input) = variant else { return CycleIdentity.usualWeight }
        return CycleIdentity.usualWeight + input.bytes.count
    }

    /// Whether it means anything to others: a cycle of one activation's own does not.
    var isShared: Bool {
        if case .own = variant { false } else { true }
    }

    private static let usualWeight = 256
}

/// One form for all ways to write the same JSON value: members sorted by their names' bytes, numbers by their value
/// (Behaviour A3). It is for comparing only: numbers are not written as JSON has them.
struct CanonicalJSON: Hashable {
    let bytes: [UInt8]

    init(_ value: DataItem) {
        var writer = JSONWriter()
        writer.canonical(value)
        bytes = writer.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func canonical(_ value: DataItem) {
        switch value {
        case .null, .bool, .string: item(value)
        case .number(let number): raw(ExactDecimal(number).canonical)
        case .array(let items): canonical(items)
        case .object(let object): canonical(object)
        }
    }

    private mutating func canonical(_ items: [DataItem]) {
        beginArray()
        for item in items {
            element()
            canonical(item)
        }
        endArray()
    }

    private mutating func canonical(_ object: DataObject) {
        beginObject()
        for (key, value) in object.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            member(key: key)
            canonical(value)
        }
        endObject()
    }
}

extension ExactDecimal {
    /// The same bytes for the same value, however it was written: `-25e3` is −0.25 · 10³.
    fileprivate var canonical: [UInt8] {
        guard !digits.isEmpty else { return [UInt8(ascii: "0")] }
        let sign = isNegative ? [UInt8(ascii: "-")] : []
        return sign + digits + Array("e\(exponent)".utf8)
    }
}
