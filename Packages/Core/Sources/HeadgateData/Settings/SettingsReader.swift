/// Reads one object of settings, key by key, and notes what is wrong with it: the one reader of all that is configured,
/// from the file's sections to what a barrier or a dispatcher of a program's own is told.
///
/// A key that was never asked for is unknown (Behaviour S2). A null counts as absent. A value that is wrong is noted
/// and then read as if absent, so that one pass over the settings finds every fault.
public final class SettingsReader {
    /// The place of this object, like `dispatchers.collect`; empty for the outermost one.
    public let path: String
    private let object: DataObject
    private let notes: Notes
    private var known: Set<String> = []

    /// What all readers of one pass write down.
    private final class Notes {
        var findings = SettingsFindings()
        var asked: Set<String> = []
        var references: [SettingsReference] = []
        var secrets: Set<String> = []
        var claims = SettingsClaims()
        /// The directory to which relative paths in settings are relative.
        var directory: String?
    }

    /// A reader that begins a pass.
    /// - Parameter directory: the data directory, to which relative paths are relative; nil where it is not known.
    public convenience init(_ object: DataObject, path: String = "", directory: String? = nil) {
        self.init(object, path: path, notes: Notes())
        notes.directory = directory
    }

    private init(_ object: DataObject, path: String, notes: Notes) {
        self.object = object
        self.path = path
        self.notes = notes
    }

    /// All that was noted in this pass so far, here and elsewhere.
    public var findings: SettingsFindings { notes.findings }

    /// The places of all that was asked for in this pass so far, here and elsewhere, whether it was there or not.
    public var asked: Set<String> { notes.asked }

    /// The data directory; nil where it is not known.
    public var directory: String? { notes.directory }

    /// The files and environment variables that were asked for in this pass so far.
    public var references: [SettingsReference] { notes.references }

    /// The places of what was asked for as a secret in this pass so far.
    public var secrets: Set<String> { notes.secrets }

    /// The names of the members, in order.
    public var keys: [String] { object.keys }

    /// The value of a key, which is known from now on; nil when it is absent or null.
    public func item(_ key: String) -> DataItem? {
        known.insert(key)
        notes.asked.insert(path(of: key))
        guard let item = object[key], !item.isNull else { return nil }
        return item
    }

    /// The value of a key, which is known from now on; nil if it is absent. A null is returned as a value.
    public func itemOrNull(_ key: String) -> DataItem? {
        item(key) ?? object[key]
    }

    /// The place of a member.
    public func path(of key: String) -> String {
        path.isEmpty ? key : "\(path).\(key)"
    }

    /// A reader for an object inside this one.
    public func reader(_ inner: DataObject, at key: String) -> SettingsReader {
        SettingsReader(inner, path: path(of: key), notes: notes)
    }

    /// Notes that a member is wrong; `suffix` leads further into it, like `[1]`.
    public func fault(_ key: String, _ suffix: String = "", _ message: String) {
        notes.findings.faults.append(SettingsFault(path: path(of: key) + suffix, message: message))
    }

    /// Notes that the object itself is wrong.
    public func fault(_ message: String) {
        notes.findings.faults.append(SettingsFault(path: path, message: message))
    }

    /// Notes that a member may be meant otherwise.
    public func warn(_ key: String, _ suffix: String = "", _ message: String) {
        notes.findings.warnings.append(SettingsFault(path: path(of: key) + suffix, message: message))
    }

    /// Notes what a member refers to and does not hold.
    public func refer(_ key: String, to target: SettingsReference.Target) {
        notes.references.append(SettingsReference(path: path(of: key), target: target))
    }

    /// Notes that the value of a member is a secret.
    public func keepSecret(_ key: String) {
        notes.secrets.insert(path(of: key))
    }

    /// Takes something that only one may have, like the file that a dispatcher writes; a fault when another has it.
    /// - Parameters:
    ///   - what: what it is, for people: `file`.
    ///   - name: which it is.
    ///   - owner: who takes it, for people.
    ///   - isNumbered: true if the owner also takes the name followed by a dot and a number, as rotated files have it.
    public func claim(_ key: String, _ what: String, _ name: String, for owner: String, isNumbered: Bool = false) {
        guard let other = notes.claims.take("\(what) \(name)", for: owner, isNumbered: isNumbered) else { return }
        fault(key, "", other.isNumbered ? "is a rotated file of \(other.owner)" : "is the \(what) of \(other.owner)")
    }

    /// Takes over what another pass noted.
    public func note(_ others: SettingsFindings) {
        notes.findings.add(others)
    }

    /// Takes all keys for known: there is nothing to hold them against.
    public func acceptEveryKey() {
        known.formUnion(object.keys)
    }

    /// Notes names that differ in their bytes only, like `é` in one code point and in two: people cannot tell one from the
    /// other.
    public func refuseLookalikes() {
        var seen: Set<String> = []
        // Strings of Swift are equal when Unicode calls them so.
        for key in object.keys where !seen.insert(key).inserted {
            fault(key, "", "looks exactly like another name here: both have one canonical form in Unicode")
        }
    }

    /// Notes the keys that nothing asked for. The last thing to do with a reader.
    public func finish() {
        for key in object.keys where !known.contains(key) {
            let closest = ClosestName.of(key, among: known).map { "; the closest known key is `\($0)`" }
            notes.findings.unknownKeys.append(
                SettingsFault(path: path(of: key), message: "unknown key" + (closest ?? "")))
        }
    }
}

extension SettingsReader {
    /// The value of a key as a `T`; nil when it is absent, or something else, which is noted.
    public func value<Value: DataItemConvertible>(_ key: String, _ type: Value.Type, mustBe: String) -> Value? {
        guard let item = item(key) else { return nil }
        if let value = Value(dataItem: item) { return value }
        fault(key, "", "must be \(mustBe)")
        return nil
    }

    /// A text.
    public func string(_ key: String) -> String? {
        value(key, String.self, mustBe: "a string")
    }

    /// A text with something in it and no NUL, like a path.
    public func filePath(_ key: String) -> String? {
        guard let text = string(key) else { return nil }
        if !text.isEmpty, !text.utf8.contains(0) { return text }
        fault(key, "", "must be a path")
        return nil
    }

    /// The path of a file that is read, which is warned of where it cannot be.
    public func readFile(_ key: String) -> String? {
        guard let path = filePath(key) else { return nil }
        refer(key, to: .file(path))
        return path
    }

    /// The name of an environment variable, which is warned of where it is not set.
    public func environmentVariable(_ key: String) -> String? {
        guard let name = string(key) else { return nil }
        guard !name.isEmpty, name.utf8.allSatisfy({ $0 != 0 && $0 != UInt8(ascii: "=") }) else {
            fault(key, "", "must be the name of an environment variable")
            return nil
        }
        refer(key, to: .variable(name))
        return name
    }

    /// A text that is never shown (Behaviour X4).
    public func secret(_ key: String) -> String? {
        keepSecret(key)
        return string(key)
    }

    /// Yes or no.
    public func bool(_ key: String) -> Bool? {
        value(key, Bool.self, mustBe: "true or false")
    }

    /// Yes or no, put where the default stands.
    public func bool(_ key: String, into place: inout Bool) {
        place = bool(key) ?? place
    }

    /// One of some words, put where the default stands.
    public func word<Word: RawRepresentable<String>>(_ key: String, of words: [Word], into place: inout Word) {
        guard let item = item(key) else { return }
        if let text = String(dataItem: item), let word = words.first(where: { $0.rawValue == text }) {
            place = word
        } else {
            fault(key, "", SettingsReader.mustBeOne(of: words.map(\.rawValue)))
        }
    }

    /// A list of some words of a kind, at least one.
    public func words<Word: RawRepresentable<String> & CaseIterable>(_ key: String, of: Word.Type) -> [Word]? {
        guard let item = item(key) else { return nil }
        let words = [String](dataItem: item)?.map(Word.init(rawValue:))
        if let words, !words.isEmpty, !words.contains(where: { $0 == nil }) { return words.compactMap(\.self) }
        let allowed = Word.allCases.map(\.rawValue).joined(separator: ", ")
        fault(key, "", "must be a list of at least one of: \(allowed)")
        return nil
    }

    /// Notes the absence of a key that has no default.
    public func require(_ key: String) {
        if item(key) == nil { fault(key, "", "is required") }
    }

    /// The message that lists what is allowed.
    public static func mustBeOne(of words: [String]) -> String {
        "must be one of: " + words.joined(separator: ", ")
    }
}

// MARK: Numbers

extension SettingsReader {
    /// More of anything than a machine has: an upper end that keeps sums of such numbers from overflowing.
    public static let most = 1 << 50
    /// The longest that anything may be told to last, in seconds: ten years.
    private static let longest = 10 * 365 * 86_400

    /// A whole number of a range.
    public func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
        guard let item = item(key) else { return nil }
        if let number = Int(dataItem: item), range.contains(number) { return number }
        fault(key, "", "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        return nil
    }

    /// Any whole number.
    public func integer(_ key: String) -> Int? {
        value(key, Int.self, mustBe: "a whole number")
    }

    /// A number of a range.
    public func number(_ key: String, in range: ClosedRange<Double>) -> Double? {
        guard let item = item(key) else { return nil }
        if let number = Double(dataItem: item), range.contains(number) { return number }
        fault(key, "", "must be a number from \(range.lowerBound) to \(range.upperBound)")
        return nil
    }

    /// A whole number of a range, put where the default stands.
    public func integer(_ key: String, in range: ClosedRange<Int>, into place: inout Int) {
        place = integer(key, in: range) ?? place
    }

    /// A time in milliseconds, from a shortest one up to the longest that what it is for can take.
    public func milliseconds(_ key: String, atLeast shortest: Int = 1, atMost most: Int? = nil) -> Duration? {
        integer(key, in: shortest...(most ?? SettingsReader.longest * 1000)).map { .milliseconds($0) }
    }

    /// A time in milliseconds, put where the default stands.
    public func milliseconds(
        _ key: String, atLeast shortest: Int = 1, atMost most: Int? = nil, into place: inout Duration
    ) {
        place = milliseconds(key, atLeast: shortest, atMost: most) ?? place
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

// MARK: Objects and lists

extension SettingsReader {
    /// An object as it is, its keys unread.
    public func object(_ key: String) -> DataObject? {
        value(key, DataObject.self, mustBe: "an object")
    }

    /// A list as it is.
    public func array(_ key: String) -> [DataItem]? {
        value(key, [DataItem].self, mustBe: "a list")
    }

    /// Reads an object with keys of its own; nothing is done when it is absent.
    /// - Parameter most: how many it may have.
    public func section(_ key: String, most: Int = .max, _ read: (SettingsReader) -> Void) {
        guard let object = object(key, most: most) else { return }
        let inner = reader(object, at: key)
        read(inner)
        inner.finish()
    }

    /// An object with no more than so many entries.
    public func object(_ key: String, most: Int) -> DataObject? {
        guard let object = object(key) else { return nil }
        if object.count <= most { return object }
        fault(key, "", "may have no more than \(most) entries")
        return nil
    }

    /// A list of no more than so many.
    public func array(_ key: String, most: Int) -> [DataItem]? {
        guard let items = array(key) else { return nil }
        if items.count <= most { return items }
        fault(key, "", "may have no more than \(most) entries")
        return nil
    }

    /// Reads the objects that a member holds by names of their choice, in their order. An entry that is null was taken
    /// away.
    /// - Parameter most: how many there may be.
    public func entries(_ key: String, most: Int, _ read: (_ name: String, _ entry: SettingsReader) -> Void) {
        section(key, most: most) { holder in
            holder.refuseLookalikes()
            for name in holder.keys { holder.section(name) { read(name, $0) } }
        }
    }

    /// Whole numbers of a range.
    public func integers(_ key: String, in range: ClosedRange<Int>) -> [Int] {
        var numbers: [Int] = []
        for (place, item) in (array(key) ?? []).enumerated() {
            if let number = Int(dataItem: item), range.contains(number) {
                numbers.append(number)
            } else {
                fault(key, "[\(place)]", "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
        }
        return numbers
    }
}
