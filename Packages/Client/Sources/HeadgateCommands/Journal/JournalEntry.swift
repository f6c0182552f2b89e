import HeadgateData

/// An entry of systemd's journal, as `journalctl --output=json` writes it, with its fields under the names that its event
/// has (Docs/Guides/Follow.md). A pure value.
struct JournalEntry: Equatable {
    /// The entry's position in the journal, which no other entry has. It becomes the event's id.
    let cursor: String?
    /// The time at which the journal received the entry.
    let time: Timestamp?
    let data: DataObject

    init(_ fields: DataObject) {
        cursor = fields.get(key: "__CURSOR")
        time = fields.get(key: "__REALTIME_TIMESTAMP").flatMap { Int64($0) }.map { Timestamp(milliseconds: $0 / 1000) }
        var data = DataObject()
        for (name, value) in fields {
            guard let known = JournalEntry.name(of: name) else { continue }
            data[known] = JournalEntry.value(value, of: known)
        }
        self.data = data
    }

    /// Returns the name of a field's member, or nil for a field that the event does not have. Fields that begin with an
    /// underscore come from the journal itself, and only the usual ones are taken.
    private static func name(of field: String) -> String? {
        if let known = names[field] { return known }
        return field.hasPrefix("_") ? nil : field.lowercased()
    }

    private static let names = [
        "MESSAGE": "message", "PRIORITY": "level", "SYSLOG_IDENTIFIER": "identifier", "_SYSTEMD_UNIT": "unit",
        "_SYSTEMD_USER_UNIT": "user_unit", "_PID": "pid", "_UID": "uid", "_GID": "gid", "_COMM": "command",
        "_HOSTNAME": "host", "_BOOT_ID": "boot", "_TRANSPORT": "transport",
    ]

    private static func value(_ value: DataItem, of name: String) -> DataItem {
        guard let text = text(value) else { return value }
        switch name {
        case "level": return .string(level(text) ?? text)
        case "pid", "uid", "gid": return Int(text).map { .number(DataNumber($0)) } ?? .string(text)
        default: return .string(text)
        }
    }

    /// Returns the text of a field's value, or nil if it is not one text. The journal writes a text that is not UTF-8 as an
    /// array of its bytes.
    private static func text(_ value: DataItem) -> String? {
        if case .string(let text) = value { return text }
        guard let bytes: [Int] = value.get(), !bytes.isEmpty, bytes.allSatisfy({ 0...255 ~= $0 }) else { return nil }
        return String(decoding: bytes.map { UInt8($0) }, as: UTF8.self)
    }

    /// Returns the level of a priority of syslog, or nil for a text that is none.
    private static func level(_ priority: String) -> String? {
        guard let number = Int(priority), priorities.indices.contains(number) else { return nil }
        return LogLevel.named(priorities[number])
    }

    /// The words of syslog's priorities, from 0.
    private static let priorities = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"]
}

/// The position in the journal from which a run goes on.
enum JournalPosition: StoredPosition, Equatable {
    /// The time of the first start, while no entry is settled.
    case time(Timestamp)
    /// The last settled entry.
    case entry(cursor: String)

    init?(_ kept: DataObject) {
        guard kept.get(key: "version") == 1 else { return nil }
        if let cursor: String = kept.get(key: "cursor") {
            self = .entry(cursor: cursor)
        } else if let text: String = kept.get(key: "since"), let time = Timestamp(rfc3339: text) {
            self = .time(time)
        } else {
            return nil
        }
    }

    var kept: DataObject {
        switch self {
        case .time(let time): ["version": 1, "since": .string(time.text)]
        case .entry(let cursor): ["version": 1, "cursor": .string(cursor)]
        }
    }

    /// The option with which `journalctl` begins here. It shows the last settled entry again, if the journal still has it.
    /// (`--after-cursor` of systemd 252 leaves out the next entry if the journal has it no more, and `--lines=0` leaves out
    /// entries if no earlier one matches.)
    var option: String {
        switch self {
        case .time(let time): "--since=@\(time.milliseconds)ms"
        case .entry(let cursor): "--cursor=\(cursor)"
        }
    }

    /// Returns true if a line of `journalctl` is the last settled entry.
    func isEntry(_ line: [UInt8]) -> Bool {
        guard case .entry(let cursor) = self else { return false }
        return line.firstRange(of: Array("\"__CURSOR\":\"\(cursor)\"".utf8)) != nil
    }
}

/// The entries whose lines are not settled yet. A pure value.
struct JournalCursors {
    private var entries: [(line: Int, cursor: String)] = []

    /// Notes the entry of a line. Lines come in order.
    mutating func note(_ cursor: String, of line: Int) {
        entries.append((line, cursor))
    }

    /// Forgets the entries up to a line.
    /// - Returns: the position of the last of them, or nil if there are none.
    mutating func settle(through line: Int) -> JournalPosition? {
        let count = entries.count { $0.line <= line }
        guard count > 0 else { return nil }
        defer { entries.removeFirst(count) }
        return .entry(cursor: entries[count - 1].cursor)
    }
}
