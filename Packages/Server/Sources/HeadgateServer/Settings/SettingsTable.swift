import HeadgateData

/// The keys of a section of the settings. One entry both reads and shows a key, so that each name is declared once.
/// Tests compare the names and the defaults with `Docs/Configuration.md`.
struct SettingsTable<Section>: Sendable {
    let keys: [Key]

    init(_ keys: [Key]) {
        self.keys = keys
    }

    /// One key of a section.
    struct Key: Sendable {
        let name: String
        /// Reads the value into a section. An absent value leaves the default there.
        let read: @Sendable (SettingsReader, inout Section) -> Void
        /// Returns the value as it is in a configuration, or nil if it is not set.
        let show: @Sendable (Section) -> DataItem?
    }

    /// Reads every key into a section, in order.
    func read(_ reader: SettingsReader, into section: inout Section) {
        for key in keys { key.read(reader, &section) }
    }

    /// Returns a section as it is in a configuration.
    func object(_ section: Section) -> DataObject {
        DataObject(keys.compactMap { key in key.show(section).map { (key.name, $0) } })
    }
}

extension SettingsTable.Key {
    typealias Path<Value> = WritableKeyPath<Section, Value> & Sendable

    /// Returns a key with a default.
    static func key<Value>(_ name: String, _ form: SettingsForm<Value>, _ path: Path<Value>) -> Self {
        Self(
            name: name, read: { $1[keyPath: path] = form.read($0, name) ?? $1[keyPath: path] },
            show: { form.show($0[keyPath: path]) })
    }

    /// Returns a key that must be set.
    static func required<Value>(_ name: String, _ form: SettingsForm<Value>, _ path: Path<Value>) -> Self {
        let key = key(name, form, path)
        return Self(
            name: name,
            read: { reader, section in
                reader.require(name)
                key.read(reader, &section)
            }, show: key.show)
    }

    /// Returns a key without a default.
    static func optional<Value>(_ name: String, _ form: SettingsForm<Value>, _ path: Path<Value?>) -> Self {
        Self(
            name: name, read: { $1[keyPath: path] = form.read($0, name) ?? $1[keyPath: path] },
            show: { $0[keyPath: path].map(form.show) })
    }

    /// Returns a key with a section of its own, whose members are read into a part of this section.
    static func section<Part>(_ name: String, _ table: SettingsTable<Part>, _ path: Path<Part>) -> Self {
        Self(
            name: name,
            read: { reader, section in reader.section(name) { table.read($0, into: &section[keyPath: path]) } },
            show: { .object(table.object($0[keyPath: path])) })
    }

    /// Returns a key with a section of its own.
    static func section<Part: SettingsSection>(_ name: String, _ path: Path<Part>) -> Self {
        section(name, Part.table, path)
    }

    /// Returns the key for a section that this one is a part of.
    func within<Whole>(_ path: WritableKeyPath<Whole, Section> & Sendable) -> SettingsTable<Whole>.Key {
        SettingsTable<Whole>.Key(
            name: name, read: { [read] in read($0, &$1[keyPath: path]) }, show: { [show] in show($0[keyPath: path]) })
    }
}

/// The form of a value in the settings: how it is read and shown.
struct SettingsForm<Value>: Sendable {
    /// Reads the value of a key. Returns nil if it is absent or wrong. A wrong value is added to the reader's faults.
    let read: @Sendable (SettingsReader, String) -> Value?
    /// Returns the value as it is in a configuration.
    let show: @Sendable (Value) -> DataItem

    init(
        _ read: @escaping @Sendable (SettingsReader, String) -> Value?, _ show: @escaping @Sendable (Value) -> DataItem
    ) {
        (self.read, self.show) = (read, show)
    }

    /// Returns the form of a section.
    static func section(
        _ read: @escaping @Sendable (SettingsReader) -> Value?, _ show: @escaping @Sendable (Value) -> DataObject
    ) -> SettingsForm {
        SettingsForm(
            { reader, key in
                var value: Value?
                reader.section(key) { value = read($0) }
                return value
            }, { .object(show($0)) })
    }
}

extension SettingsForm where Value == Bool {
    /// `true` or `false`.
    static let bool = SettingsForm({ $0.bool($1) }, { .bool($0) })
}

extension SettingsForm where Value == Int {
    /// Returns the form of whole numbers within a range.
    static func integer(_ range: ClosedRange<Int>) -> SettingsForm {
        SettingsForm({ $0.integer($1, in: range) }, { .number(DataNumber($0)) })
    }
}

extension SettingsForm where Value == Duration {
    /// Returns the form of durations in milliseconds.
    static func milliseconds(atLeast least: Int = 1) -> SettingsForm {
        SettingsForm({ $0.milliseconds($1, atLeast: least) }, { DataItem(milliseconds: $0) })
    }

    /// Returns the form of durations in seconds.
    static func seconds(atLeast least: Int = 1) -> SettingsForm {
        SettingsForm({ $0.seconds($1, atLeast: least) }, { DataItem(seconds: $0) })
    }
}

extension SettingsForm where Value: RawRepresentable<String> & CaseIterable & Sendable {
    /// A word of an enumeration.
    static var word: SettingsForm {
        SettingsForm(
            { reader, key in
                guard let item = reader.item(key) else { return nil }
                if let word = String(dataItem: item).flatMap(Value.init) { return word }
                reader.fault(key, "", SettingsReader.mustBeOne(of: Value.allCases.map(\.rawValue)))
                return nil
            }, { .string($0.rawValue) })
    }
}

/// A section of the settings whose keys all have a default or may be absent.
protocol SettingsSection {
    static var table: SettingsTable<Self> { get }
}

extension SettingsSection {
    mutating func read(_ reader: SettingsReader) { Self.table.read(reader, into: &self) }

    /// The section as it is in a configuration.
    var object: DataObject { Self.table.object(self) }
}
