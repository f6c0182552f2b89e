import HeadgateData

/// The shape of a value from a message, and the function that reads it. Both are declared together, so that they cannot
/// differ.
///
/// A value is read only while its line is valid.
public struct Shape<Value>: Sendable {
    /// The schema of the value.
    public let schema: Schema
    /// Reads a value, or throws its fault.
    public let read: @Sendable (JSONView) throws(ParameterFault) -> Value

    public init(_ schema: Schema, _ read: @escaping @Sendable (JSONView) throws(ParameterFault) -> Value) {
        self.schema = schema
        self.read = read
    }

    /// Creates a shape whose values all have the same fault if they are invalid. `value` returns nil for an invalid
    /// value.
    public init(_ schema: Schema, mustBe expectation: String, _ value: @escaping @Sendable (JSONView) -> Value?) {
        self.init(schema) { view throws(ParameterFault) in
            guard let value = value(view) else { throw ParameterFault("must be \(expectation)") }
            return value
        }
    }

    /// Returns the shape with a name under which the OpenRPC document has its schema.
    public func named(_ name: String) -> Shape {
        Shape(.named(name, schema), read)
    }

    /// Returns a shape of transformed values.
    public func map<Other>(_ transform: @escaping @Sendable (Value) -> Other) -> Shape<Other> {
        Shape<Other>(schema) { [read] view throws(ParameterFault) in transform(try read(view)) }
    }
}

// MARK: Texts

extension Shape where Value == String {
    /// Any string, such as the name of an object that may or may not exist.
    ///
    /// A longer string than any name is refused before it is copied: comparing and hashing it would take long, above all
    /// if it consists of combining characters (Behaviour X3).
    public static let string = Shape(.text) { view throws(ParameterFault) in
        guard view.kind == .string else { throw ParameterFault("must be a string") }
        guard view.raw.count <= longestName, let text = view.string else {
            throw ParameterFault("is longer than any valid name")
        }
        return text
    }

    /// The most bytes of a name, with quotes and escapes. Every declared length is below it.
    private static let longestName = 16_384

    /// Returns a shape of strings with a length in bytes of UTF-8.
    /// - Parameter complaint: returns another problem of a text, or nil if it is valid.
    public static func string(
        _ bytes: ClosedRange<Int>, problem: @escaping @Sendable (String) -> String? = { _ in nil }
    ) -> Shape {
        Shape(.string(least: bytes.lowerBound, most: bytes.upperBound)) { view throws(ParameterFault) in
            // An escape has at most six bytes for each byte of the text.
            guard view.kind != .string || view.raw.count <= 6 * bytes.upperBound + 2 else {
                throw ParameterFault("must have \(bytes.lowerBound) to \(bytes.upperBound) bytes")
            }
            let text = try string.read(view)
            if let problem = problem(text) { throw ParameterFault(problem) }
            guard bytes.contains(text.utf8.count) else {
                throw ParameterFault("must have \(bytes.lowerBound) to \(bytes.upperBound) bytes")
            }
            return text
        }
    }
}

extension Shape where Value: RawRepresentable<String> & CaseIterable & Sendable {
    /// A word of an enumeration. The fault lists all words.
    public static var word: Shape {
        let words = Value.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
        return Shape(.words(of: Value.self), mustBe: "one of \(words)") { view in
            view.raw.count <= longestWord ? view.string.flatMap(Value.init) : nil
        }
    }

    /// The most bytes of a word, with quotes and escapes.
    private static var longestWord: Int { 512 }
}

// MARK: Numbers

extension Shape where Value == Bool {
    /// `true` or `false`.
    public static let bool = Shape(.bool, mustBe: "true or false", \.bool)
}

extension Shape where Value == Int {
    /// A whole number in the range of `Int`.
    public static let integer = Shape(.integer(), mustBe: "a whole number") { $0.int.flatMap(Int.init(exactly:)) }

    /// Returns a shape of whole numbers within a range.
    public static func integer(_ range: ClosedRange<Int>) -> Shape {
        let (least, most) = (range.lowerBound, range.upperBound)
        return Shape(.integer(least: least, most: most), mustBe: "a whole number from \(least) to \(most)") { view in
            view.int.flatMap(Int.init(exactly:)).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// Returns a shape of whole numbers with a minimum.
    public static func integer(_ range: PartialRangeFrom<Int>) -> Shape {
        let least = range.lowerBound
        return Shape(.integer(least: least), mustBe: "a whole number, at least \(least)") { view in
            view.int.flatMap(Int.init(exactly:)).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension Shape where Value == Duration {
    /// The longest duration that a client may request: a day, in milliseconds.
    public static var longestMilliseconds: Int { 86_400_000 }

    /// Returns a shape of whole numbers of milliseconds, up to a day.
    public static func milliseconds(atLeast least: Int) -> Shape {
        Shape<Int>.integer(least...longestMilliseconds).map { .milliseconds($0) }
    }
}

// MARK: Values, objects and arrays

extension Shape where Value == DataItem {
    /// A copy of any value, including null.
    public static let any = Shape(.any) { view throws(ParameterFault) in view.item }
}

extension Shape where Value == DataObject {
    /// A copy of any object.
    public static let object = Shape(.anyObject, mustBe: "an object") { $0.kind == .object ? DataObject($0) : nil }
}

extension Shape {
    /// Returns a shape of objects that are read member by member. Other members are ignored.
    public static func object<each Member>(
        _ fields: repeat Field<each Member>, make: @escaping @Sendable (repeat each Member) -> Value
    ) -> Shape {
        var members: [Schema.Member] = []
        for field in repeat each fields { members.append(field.member) }
        return Shape(.object(members)) { view throws(ParameterFault) in
            guard view.kind == .object else { throw ParameterFault("must be an object") }
            return make(repeat try (each fields).read(view))
        }
    }

    /// Returns a shape of arrays with at least `least` elements, and at most `most`. A longer array is refused before its
    /// elements are read.
    public static func array<Element>(of element: Shape<Element>, atLeast least: Int = 0, atMost most: Int = .max)
        -> Shape
    where Value == [Element] {
        Shape(.array(element.schema, least: least)) { view throws(ParameterFault) in
            guard let elements = view.elements else { throw ParameterFault("must be an array") }
            guard elements.count >= least else { throw ParameterFault("must not be empty") }
            guard elements.count <= most else { throw ParameterFault("must have at most \(most) elements") }
            var values: [Element] = []
            for (index, view) in elements.enumerated() {
                do throws(ParameterFault) { values.append(try element.read(view)) } catch {
                    throw error.inside("[\(index)]")
                }
            }
            return values
        }
    }
}
