/// Reads one object of settings, key by key, and notes what is wrong with it: the one reader of all that is configured,
/// from the file's sections to what a barrier or a dispatcher of a program's own is told.
///
/// A key that was never asked for is unknown (Behaviour S2). A null counts as absent. A value that is wrong is noted and
/// then read as if absent, so that one pass over the settings finds every fault.
public final class SettingsReader {
    /// The place of this object, like `dispatchers.collect`; empty for the outermost one.
    public let path: String
    private let object: DataObject
    private let notes: Notes
    private var known: Set<String> = []

    /// What all readers of one pass write down.
    private final class Notes {
        var findings = SettingsFindings()
        public var asked: Set<String> = []
        public var references: [SettingsReference] = []
        public var secrets: Set<String> = []
        /// Whose each thing is that only one may have, by what it is.
        var claims: [String: String] = [:]
    }

    /// A reader that begins a pass.
    public convenience init(_ object: DataObject, path: String = "") {
        self.init(object, path: path, notes: Notes())
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
    public func claim(_ key: String, _ what: String, _ name: String, for owner: String) {
        if let other = notes.claims.updateValue(owner, forKey: "\(what) \(name)") {
            fault(key, "", "is the \(what) of \(other)")
        }
    }

    /// Takes over what another pass noted.
    public func note(_ others: SettingsFindings) {
        notes.findings.add(others)
    }

    /// Takes all keys for known: there is nothing to hold them against.
    public func acceptEveryKey() {
        known.formUnion(object.keys)
    }

    /// Notes the keys that nothing asked for. The last thing to do with a reader.
    public func finish() {
        for key in object.keys where !known.contains(key) { warn(key, "", "unknown key, ignored") }
    }
}
