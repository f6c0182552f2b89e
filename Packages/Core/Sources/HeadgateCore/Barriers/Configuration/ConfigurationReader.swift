import HeadgateData

/// Reads a barrier's configuration key by key, and notes all that is wrong with it (Behaviour S2).
public final class ConfigurationReader {
    private let configuration: DataObject
    private var known: Set<String> = []
    /// What is wrong, in the order in which it was asked for.
    public private(set) var faults: [BarrierConfigurationFault] = []

    public init(_ configuration: DataObject) {
        self.configuration = configuration
    }

    /// The keys that nobody asked for, in their order.
    public var unknownKeys: [String] {
        configuration.keys.filter { !known.contains($0) }
    }

    /// Notes that a key is wrong.
    public func fault(_ key: String, _ message: String) {
        faults.append(BarrierConfigurationFault(key: key, message: message))
    }

    /// Whether a key is there.
    public func has(_ key: String) -> Bool {
        known.insert(key)
        return configuration[key] != nil
    }

    /// Yes or no.
    public func flag(_ key: String) -> Bool? {
        value(key, mustBe: "true or false") { Bool(dataItem: $0) }
    }

    /// A text.
    public func text(_ key: String) -> String? {
        value(key, mustBe: "a string") { String(dataItem: $0) }
    }

    /// Any whole number.
    public func whole(_ key: String) -> Int? {
        value(key, mustBe: "a whole number") { Int(dataItem: $0) }
    }

    /// A whole number of a range.
    public func whole(_ key: String, in range: ClosedRange<Int>) -> Int? {
        value(key, mustBe: "a whole number from \(range.lowerBound) to \(range.upperBound)") { item in
            Int(dataItem: item).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// A number of a range.
    public func number(_ key: String, in range: ClosedRange<Double>) -> Double? {
        value(key, mustBe: "a number from \(range.lowerBound) to \(range.upperBound)") { item in
            Double(dataItem: item).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// A time in milliseconds, up to ten years.
    public func milliseconds(_ key: String) -> Duration? {
        whole(key, in: 1...ConfigurationReader.mostMilliseconds).map { .milliseconds($0) }
    }

    /// A list of some words of a kind, at least one.
    public func words<Word: RawRepresentable<String> & CaseIterable>(_ key: String, of: Word.Type) -> [Word]? {
        let allowed = Word.allCases.map(\.rawValue).joined(separator: ", ")
        return value(key, mustBe: "a list of at least one of: \(allowed)") { item in
            guard let texts = [String](dataItem: item), !texts.isEmpty else { return nil }
            let words = texts.compactMap(Word.init(rawValue:))
            return words.count == texts.count ? words : nil
        }
    }

    private func value<Value>(_ key: String, mustBe: String, _ read: (DataItem) -> Value?) -> Value? {
        guard has(key), let item = configuration[key] else { return nil }
        if let value = read(item) { return value }
        fault(key, "must be \(mustBe)")
        return nil
    }

    private static let mostMilliseconds = 10 * 365 * 86_400 * 1000
}
