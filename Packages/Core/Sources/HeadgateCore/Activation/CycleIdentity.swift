import HeadgateData

/// The identity of a barrier's cycle (Behaviour A3). Of the activations with the same identity, the first starts the
/// barrier and the others join it.
struct CycleIdentity: Hashable {
    private let name: ExactName
    var board: String { name.text }
    private let variant: Variant
    /// The mainboard; nil if the cycle is global.
    private let mainboard: ExactName?

    private enum Variant: Hashable {
        case shared
        case input(CanonicalJSON)
        case own(activation: Int)
    }

    /// Creates the identity of a barrier for one activation.
    init(_ barrier: ActivationBarrier, before activation: Activation) {
        name = ExactName(barrier.board)
        mainboard = barrier.scope == .main ? ExactName(activation.request.mainboard) : nil
        switch barrier.option {
        case .void: variant = .shared
        case .unique: variant = .input(CanonicalJSON(activation.request.comparedInput ?? activation.request.input))
        case .each: variant = .own(activation: activation.id)
        }
    }

    /// The approximate memory for remembering the identity, in bytes.
    var weight: Int {
        guard case .input(let input) = variant else { return CycleIdentity.defaultWeight }
        return CycleIdentity.defaultWeight + input.bytes.count
    }

    /// True if other activations can have the same identity. A cycle with the option `each` is never shared.
    var isShared: Bool {
        if case .own = variant { false } else { true }
    }

    private static let defaultWeight = 256
}

/// A canonical form of a JSON value for comparisons: members sorted by the bytes of their names, numbers by value
/// (Behaviour A3). The numbers are not in JSON's form.
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
    /// The canonical bytes, the same for equal values in any notation: `-25e3` is −0.25 · 10³.
    fileprivate var canonical: [UInt8] {
        guard !digits.isEmpty else { return [UInt8(ascii: "0")] }
        let sign = isNegative ? [UInt8(ascii: "-")] : []
        return sign + digits + Array("e\(exponent)".utf8)
    }
}
