import HeadgateData

extension SettingsReader {
    /// More of anything than a machine has: an upper end that keeps sums of such numbers from overflowing.
    static let most = 1 << 50
    /// The longest that anything may be told to last, in seconds: ten years.
    private static let longest = 10 * 365 * 86_400

    /// A whole number of a range.
    public func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
        guard let item = item(key) else { return nil }
        if let number = Int(dataItem: item), range.contains(number) { return number }
        fault(key, "", "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        return nil
    }

    /// A whole number of a range, put where the default stands.
    public func integer(_ key: String, in range: ClosedRange<Int>, into place: inout Int) {
        place = integer(key, in: range) ?? place
    }

    /// A time in milliseconds, from a shortest one up.
    public func milliseconds(_ key: String, atLeast shortest: Int = 1) -> Duration? {
        integer(key, in: shortest...(SettingsReader.longest * 1000)).map { .milliseconds($0) }
    }

    /// A time in milliseconds, put where the default stands.
    public func milliseconds(_ key: String, atLeast shortest: Int = 1, into place: inout Duration) {
        place = milliseconds(key, atLeast: shortest) ?? place
    }

    /// A time in seconds, from a shortest one up.
    public func seconds(_ key: String, atLeast shortest: Int = 1) -> Duration? {
        integer(key, in: shortest...SettingsReader.longest).map { .seconds($0) }
    }

    /// A time in seconds, put where the default stands.
    public func seconds(_ key: String, atLeast shortest: Int = 1, into place: inout Duration) {
        place = seconds(key, atLeast: shortest) ?? place
    }
}
