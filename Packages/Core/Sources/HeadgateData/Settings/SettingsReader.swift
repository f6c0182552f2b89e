/// A reader of one object of settings. It reads key by key, and collects findings. All settings are read with it: the
/// file's sections, barriers, and dispatchers, including those that a program adds.
///
/// A key that was never requested is unknown (Behaviour S2). A null counts as absent. A wrong value is reported and
/// then treated as absent, so that one pass finds every fault.
public final class SettingsReader {
    /// The key path of this object, like `dispatchers.collect`; empty for the root.
    public let path: String
    private let object: DataObject
    private let notes: Notes
    private var known: Set<String> = []

    /// The results that all readers of one pass share.
    private final class Notes {
        var findings = SettingsFindings()
        var requested: Set<String> = []
        var references: [SettingsReference] = []
        var secrets: Set<String> = []
        var claims = SettingsClaims()
        /// The directory that relative paths in the settings refer to.
        var directory: String?
    }

    /// Creates the root reader of a pass.
    /// - Parameters:
    ///   - object: the settings.
    ///   - path: the key path of the object.
    ///   - directory: the data directory, which relative paths refer to; nil if it is unknown.
    public convenience init(_ object: DataObject, path: String = "", directory: String? = nil) {
        self.init(object, path: path, notes: Notes())
        notes.directory = directory
    }

    private init(_ object: DataObject, path: String, notes: Notes) {
        self.object = object
        self.path = path
        self.notes = notes
    }

    /// The findings of all readers of this pass so far.
    public var findings: SettingsFindings { notes.findings }

    /// The key paths that the readers of this pass have requested so far, both present and absent.
    public var requested: Set<String> { notes.requested }

    /// The data directory; nil if it is unknown.
    public var directory: String? { notes.directory }

    /// The files and environment variables that the settings refer to, as found so far in this pass.
    public var references: [SettingsReference] { notes.references }

    /// The key paths of secrets that were requested so far in this pass.
    public var secrets: Set<String> { notes.secrets }

    /// The names of the members, in order.
    public var keys: [String] { object.keys }

    /// Returns the value of a key, or nil if it is absent or null. The key is known from then on.
    public func item(_ key: String) -> DataItem? {
        known.insert(key)
        notes.requested.insert(path(of: key))
        guard let item = object[key], !item.isNull else { return nil }
        return item
    }

    /// Returns the value of a key, or nil if it is absent. A null is returned as a value. The key is known from then
    /// on.
    public func itemOrNull(_ key: String) -> DataItem? {
        item(key) ?? object[key]
    }

    /// Returns the key path of a member.
    public func path(of key: String) -> String {
        path.isEmpty ? key : "\(path).\(key)"
    }

    /// Creates a reader for an object within this one.
    public func reader(_ inner: DataObject, at key: String) -> SettingsReader {
        SettingsReader(inner, path: path(of: key), notes: notes)
    }

    /// Reports a fault of a member. `suffix` is appended to the key path, like `[1]`.
    public func fault(_ key: String, _ suffix: String = "", _ message: String) {
        notes.findings.faults.append(SettingsFault(path: path(of: key) + suffix, message: message))
    }

    /// Reports a fault of the object itself.
    public func fault(_ message: String) {
        notes.findings.faults.append(SettingsFault(path: path, message: message))
    }

    /// Reports a warning about a member.
    public func warn(_ key: String, _ suffix: String = "", _ message: String) {
        notes.findings.warnings.append(SettingsFault(path: path(of: key) + suffix, message: message))
    }

    /// Records that a member refers to a file or an environment variable.
    public func refer(_ key: String, to target: SettingsReference.Target) {
        notes.references.append(SettingsReference(path: path(of: key), target: target))
    }

    /// Records that the value of a member is a secret.
    public func keepSecret(_ key: String) {
        notes.secrets.insert(path(of: key))
    }

    /// Claims a name that only one owner may have, like the file that a dispatcher writes. Reports a fault if another
    /// owner has it.
    /// - Parameters:
    ///   - key: the key of the setting that makes the claim.
    ///   - what: the kind of thing, for messages: `file`.
    ///   - name: the name that is claimed.
    ///   - owner: the owner, for messages.
    ///   - isNumbered: true if the owner also claims the name followed by a dot and a number, as for rotated files.
    public func claim(_ key: String, _ what: String, _ name: String, for owner: String, isNumbered: Bool = false) {
        guard let other = notes.claims.take("\(what) \(name)", for: owner, isNumbered: isNumbered) else { return }
        fault(key, "", other.isNumbered ? "is a rotated file of \(other.owner)" : "is the \(what) of \(other.owner)")
    }

    /// Records that a name belongs to an owner outside of the settings, so that no setting may claim it.
    public func reserve(_ what: String, _ name: String, for owner: String) {
        _ = notes.claims.take("\(what) \(name)", for: owner, isNumbered: false)
    }

    /// Returns the owner of a name that was claimed or reserved so far, or nil.
    public func owner(of what: String, _ name: String) -> String? {
        notes.claims.owner(of: "\(what) \(name)")
    }

    /// Adds the findings of another pass.
    public func note(_ others: SettingsFindings) {
        notes.findings.add(others)
    }

    /// Marks all keys as known, for an object whose keys cannot be checked.
    public func acceptEveryKey() {
        known.formUnion(object.keys)
    }

    /// Reports names that look the same but differ in their bytes, like `é` in one code point and in two. People cannot
    /// tell them apart.
    public func refuseLookalikes() {
        var seen: Set<String> = []
        // Swift's strings are equal if they are canonically equivalent.
        for key in object.keys where !seen.insert(key).inserted {
            fault(key, "", "equals another name in Unicode's canonical form")
        }
    }

    /// Reports the keys that were never requested. Call it last.
    public func finish() {
        for key in object.keys where !known.contains(key) {
            let closest = ClosestName.of(key, among: known).map { "; the closest known key is `\($0)`" }
            notes.findings.unknownKeys.append(
                SettingsFault(path: path(of: key), message: "unknown key" + (closest ?? "")))
        }
    }
}

extension SettingsReader {
    /// Returns the value of a key as a `Value`, or nil if it is absent. A value of another type is a fault, and nil is
    /// returned.
    public func value<Value: DataItemConvertible>(_ key: String, _ type: Value.Type, mustBe: String) -> Value? {
        guard let item = item(key) else { return nil }
        if let value = Value(dataItem: item) { return value }
        fault(key, "", "must be \(mustBe)")
        return nil
    }

    /// Returns a string.
    public func string(_ key: String) -> String? {
        value(key, String.self, mustBe: "a string")
    }

    /// Returns a path: a string that is not empty and has no NUL.
    public func filePath(_ key: String) -> String? {
        guard let text = string(key) else { return nil }
        if !text.isEmpty, !text.utf8.contains(0) { return text }
        fault(key, "", "must be a path")
        return nil
    }

    /// Returns the path of a file to read. A file that cannot be read is a warning.
    public func readFile(_ key: String) -> String? {
        guard let path = filePath(key) else { return nil }
        refer(key, to: .file(path))
        return path
    }

    /// Returns the name of an environment variable. A variable that is not set is a warning.
    public func environmentVariable(_ key: String) -> String? {
        guard let name = string(key) else { return nil }
        guard !name.isEmpty, name.utf8.allSatisfy({ $0 != 0 && $0 != UInt8(ascii: "=") }) else {
            fault(key, "", "must be the name of an environment variable")
            return nil
        }
        refer(key, to: .variable(name))
        return name
    }

    /// Returns a string that is never shown (Behaviour X4).
    public func secret(_ key: String) -> String? {
        keepSecret(key)
        return string(key)
    }

    /// Returns a Boolean value.
    public func bool(_ key: String) -> Bool? {
        value(key, Bool.self, mustBe: "true or false")
    }

    /// Reads a Boolean value into `target`. An absent value leaves the default there.
    public func bool(_ key: String, into target: inout Bool) {
        target = bool(key) ?? target
    }

    /// Reads one of several words into `target`. An absent value leaves the default there.
    public func word<Word: RawRepresentable<String>>(_ key: String, of words: [Word], into target: inout Word) {
        guard let item = item(key) else { return }
        if let text = String(dataItem: item), let word = words.first(where: { $0.rawValue == text }) {
            target = word
        } else {
            fault(key, "", SettingsReader.mustBeOne(of: words.map(\.rawValue)))
        }
    }

    /// Returns a list of at least one word of a type.
    public func words<Word: RawRepresentable<String> & CaseIterable>(_ key: String, of: Word.Type) -> [Word]? {
        guard let item = item(key) else { return nil }
        let words = [String](dataItem: item)?.map(Word.init(rawValue:))
        if let words, !words.isEmpty, !words.contains(where: { $0 == nil }) { return words.compactMap(\.self) }
        let allowed = Word.allCases.map(\.rawValue).joined(separator: ", ")
        fault(key, "", "must be a list of at least one of: \(allowed)")
        return nil
    }

    /// Reports a fault if a key is absent.
    public func require(_ key: String) {
        if item(key) == nil { fault(key, "", "is required") }
    }

    /// Returns the message that lists the allowed words.
    public static func mustBeOne(of words: [String]) -> String {
        "must be one of: " + words.joined(separator: ", ")
    }
}

// MARK: Numbers

extension SettingsReader {
    /// The upper limit of any quantity. It is beyond every machine's capacity and keeps sums from overflowing.
    public static let most = 1 << 50
    /// The upper limit of any duration, in seconds: ten years.
    private static let longest = 10 * 365 * 86_400

    /// Returns a whole number within a range.
    public func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
        guard let item = item(key) else { return nil }
        if let number = Int(dataItem: item), range.contains(number) { return number }
        fault(key, "", "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        return nil
    }

    /// Returns a whole number.
    public func integer(_ key: String) -> Int? {
        value(key, Int.self, mustBe: "a whole number")
    }

    /// Returns a number within a range.
    public func number(_ key: String, in range: ClosedRange<Double>) -> Double? {
        guard let item = item(key) else { return nil }
        if let number = Double(dataItem: item), range.contains(number) { return number }
        fault(key, "", "must be a number from \(range.lowerBound) to \(range.upperBound)")
        return nil
    }

    /// Reads a whole number within a range into `target`. An absent value leaves the default there.
    public func integer(_ key: String, in range: ClosedRange<Int>, into target: inout Int) {
        target = integer(key, in: range) ?? target
    }

    /// Returns a duration that is set in milliseconds.
    /// - Parameters:
    ///   - shortest: the least that is allowed, in milliseconds.
    ///   - most: the most that is allowed, in milliseconds; nil for ten years.
    public func milliseconds(_ key: String, atLeast shortest: Int = 1, atMost most: Int? = nil) -> Duration? {
        integer(key, in: shortest...(most ?? SettingsReader.longest * 1000)).map { .milliseconds($0) }
    }

    /// Reads a duration that is set in milliseconds into `target`. An absent value leaves the default there.
    public func milliseconds(
        _ key: String, atLeast shortest: Int = 1, atMost most: Int? = nil, into target: inout Duration
    ) {
        target = milliseconds(key, atLeast: shortest, atMost: most) ?? target
    }

    /// Returns a duration that is set in seconds.
    public func seconds(_ key: String, atLeast shortest: Int = 1) -> Duration? {
        integer(key, in: shortest...SettingsReader.longest).map { .seconds($0) }
    }

    /// Reads a duration that is set in seconds into `target`. An absent value leaves the default there.
    public func seconds(_ key: String, atLeast shortest: Int = 1, into target: inout Duration) {
        target = seconds(key, atLeast: shortest) ?? target
    }
}

// MARK: Objects and lists

extension SettingsReader {
    /// Returns an object without reading its keys.
    public func object(_ key: String) -> DataObject? {
        value(key, DataObject.self, mustBe: "an object")
    }

    /// Returns a list of any values.
    public func array(_ key: String) -> [DataItem]? {
        value(key, [DataItem].self, mustBe: "a list")
    }

    /// Reads a section: an object with keys of its own. `read` is not called if the section is absent.
    /// - Parameter most: the most entries that the object may have.
    public func section(_ key: String, most: Int = .max, _ read: (SettingsReader) -> Void) {
        guard let object = object(key, most: most) else { return }
        let inner = reader(object, at: key)
        read(inner)
        inner.finish()
    }

    /// Returns an object with at most `most` entries.
    public func object(_ key: String, most: Int) -> DataObject? {
        guard let object = object(key) else { return nil }
        if object.count <= most { return object }
        fault(key, "", "has at most \(most) entries")
        return nil
    }

    /// Returns a list with at most `most` elements.
    public func array(_ key: String, most: Int) -> [DataItem]? {
        guard let items = array(key) else { return nil }
        if items.count <= most { return items }
        fault(key, "", "has at most \(most) entries")
        return nil
    }

    /// Reads the named objects in a member, in order. A null entry was removed by a later layer and is skipped.
    /// - Parameter most: the most entries that the member may have.
    public func entries(_ key: String, most: Int, _ read: (_ name: String, _ entry: SettingsReader) -> Void) {
        section(key, most: most) { holder in
            holder.refuseLookalikes()
            for name in holder.keys { holder.section(name) { read(name, $0) } }
        }
    }

    /// Returns a list of whole numbers within a range, without the elements that are faults.
    public func integers(_ key: String, in range: ClosedRange<Int>) -> [Int] {
        var numbers: [Int] = []
        for (index, item) in (array(key) ?? []).enumerated() {
            if let number = Int(dataItem: item), range.contains(number) {
                numbers.append(number)
            } else {
                fault(key, "[\(index)]", "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
        }
        return numbers
    }
}
