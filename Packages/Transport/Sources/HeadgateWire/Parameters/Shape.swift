import HeadgateData

/// What a value from outside may be, and how it is read: the two cannot differ, since both are declared here as one.
///
/// Reads only while the line is there that the value comes from.
public struct Shape<Value>: Sendable {
    /// What is told of it.
    public let schema: Schema
    /// Reads a value, or tells what is wrong with it.
    public let read: @Sendable (JSONView) throws(ParameterFault) -> Value

    public init(_ schema: Schema, _ read: @escaping @Sendable (JSONView) throws(ParameterFault) -> Value) {
        self.schema = schema
        self.read = read
    }

    /// A shape of values that either are right or are not.
    public init(_ schema: Schema, mustBe expectation: String, _ value: @escaping @Sendable (JSONView) -> Value?) {
        self.init(schema) { view throws(ParameterFault) in
            guard let value = value(view) else { throw ParameterFault("must be \(expectation)") }
            return value
        }
    }

    /// The same values under the name of their schema in the document.
    public func named(_ name: String) -> Shape {
        Shape(.named(name, schema), read)
    }

    /// What the values are made into.
    public func map<Other>(_ transform: @escaping @Sendable (Value) -> Other) -> Shape<Other> {
        Shape<Other>(schema) { [read] view throws(ParameterFault) in transform(try read(view)) }
    }
}

// MARK: Texts

extension Shape where Value == String {
    /// Any string: what names something that is there or not.
    public static let string = Shape(.text, mustBe: "a string", \.string)

    /// A string of so many bytes of UTF-8.
    /// - Parameter complaint: what else is wrong with a text; nil when it will do.
    public static func string(
        _ bytes: ClosedRange<Int>, complaint: @escaping @Sendable (String) -> String? = { _ in nil }
    ) -> Shape {
        Shape(.string(least: bytes.lowerBound, most: bytes.upperBound)) { view throws(ParameterFault) in
            let text = try string.read(view)
            if let complaint = complaint(text) { throw ParameterFault(complaint) }
            guard bytes.contains(text.utf8.count) else {
                throw ParameterFault("must have \(bytes.lowerBound) to \(bytes.upperBound) bytes")
            }
            return text
        }
    }
}

extension Shape where Value: RawRepresentable<String> & CaseIterable & Sendable {
    /// One of an enumeration's words. All are told when it is none, so that nobody has to guess.
    public static var word: Shape {
        let words = Value.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
        return Shape(.words(of: Value.self), mustBe: "one of \(words)") { $0.string.flatMap(Value.init) }
    }
}

// MARK: Numbers

extension Shape where Value == Bool {
    /// `true` or `false`.
    public static let bool = Shape(.bool, mustBe: "true or false", \.bool)
}

extension Shape where Value == Int {
    /// Any whole number that fits.
    public static let integer = Shape(.integer(), mustBe: "a whole number") { $0.int.flatMap(Int.init(exactly:)) }

    /// A whole number of a range.
    public static func integer(_ range: ClosedRange<Int>) -> Shape {
        let (least, most) = (range.lowerBound, range.upperBound)
        return Shape(.integer(least: least, most: most), mustBe: "a whole number from \(least) to \(most)") { view in
            view.int.flatMap(Int.init(exactly:)).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// A whole number from a least one up.
    public static func integer(_ range: PartialRangeFrom<Int>) -> Shape {
        let least = range.lowerBound
        return Shape(.integer(least: least), mustBe: "a whole number, at least \(least)") { view in
            view.int.flatMap(Int.init(exactly:)).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension Shape where Value == Duration {
    /// The longest that a client may have anything last: a day, in milliseconds.
    public static var longestMilliseconds: Int { 86_400_000 }

    /// A whole number of milliseconds, up to a day.
    public static func milliseconds(atLeast least: Int) -> Shape {
        Shape<Int>.integer(least...longestMilliseconds).map { .milliseconds($0) }
    }
}

// MARK: What holds values

extension Shape where Value == DataItem {
    /// Any value, null too, copied out of the line.
    public static let any = Shape(.any) { view throws(ParameterFault) in view.item }
}

extension Shape where Value == DataObject {
    /// Any object, copied out of the line.
    public static let object = Shape(.anyObject, mustBe: "an object") { $0.kind == .object ? DataObject($0) : nil }
}

extension Shape {
    /// An object that is read member by member; members that are not named are ignored.
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

    /// An array of at least so many.
    public static func array<Element>(of element: Shape<Element>, atLeast least: Int = 0) -> Shape
    where Value == [Element] {
        Shape(.array(element.schema, least: least)) { view throws(ParameterFault) in
            guard let elements = view.elements else { throw ParameterFault("must be an array") }
            guard elements.count >= least else { throw ParameterFault("must not be empty") }
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
