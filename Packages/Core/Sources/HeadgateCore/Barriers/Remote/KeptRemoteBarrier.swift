import HeadgateData

/// A remote barrier as it is stored, to survive a restart (Behaviour B29).
struct KeptRemoteBarrier: Equatable {
    var registration: RemoteBarrierRegistration
    var setting: RemoteBarrier.Setting
    /// The owner's name, for people.
    var owner: String

    /// Returns the name under which the store keeps a barrier. The name is ASCII: dictionaries take ids that Unicode
    /// considers equal for the same name.
    static func name(of id: String) -> String {
        prefix + PercentEncoding.encode(id.utf8) { $0 != UInt8(ascii: "%") }
    }

    /// Returns the id of the barrier that is kept under a name, or nil if the name is not a remote barrier's.
    static func id(of name: String) -> String? {
        guard name.hasPrefix(prefix) else { return nil }
        return PercentEncoding.decode(name.dropFirst(prefix.count).utf8).map { String(decoding: $0, as: UTF8.self) }
    }

    private static let prefix = "remote-barrier:"
    private static let form: UInt8 = 1

    /// The stored bytes: the version of the form (1), the action on disconnection, the flushability, the general state,
    /// the owner, the scopes, and the states for single dispatchers. A text is its length (2 bytes, little-endian)
    /// followed by its UTF-8. A list is its count followed by its elements.
    var bytes: [UInt8] {
        var bytes: [UInt8] = [KeptRemoteBarrier.form, registration.onDisconnect.code, setting.isFlushable ? 1 : 0]
        bytes.put(setting.general)
        bytes.put(owner)
        bytes.put(count: registration.scopes.count)
        for scope in registration.scopes { bytes.put(scope.rawValue) }
        bytes.put(count: setting.exceptions.count)
        for (dispatcher, statement) in setting.exceptions.sorted(by: { $0.key < $1.key }) {
            bytes.put(dispatcher)
            bytes.put(statement)
        }
        return bytes
    }

    init(registration: RemoteBarrierRegistration, setting: RemoteBarrier.Setting, owner: String) {
        (self.registration, self.setting, self.owner) = (registration, setting, owner)
    }

    /// Reads a stored barrier; nil if the bytes are malformed or of an unknown version.
    init?(bytes: [UInt8]) {
        var reader = KeptReader(bytes)
        guard reader.byte() == KeptRemoteBarrier.form,
            let onDisconnect = reader.byte().flatMap(RemoteBarrierRegistration.OnDisconnect.init(code:)),
            let flushable = reader.byte(), flushable <= 1, let general = reader.statement(),
            let owner = reader.text(), let scopes = reader.list({ $0.text() }),
            let exceptions = reader.list({ reader in
                reader.text().flatMap { dispatcher in reader.statement().map { (dispatcher, $0) } }
            }), reader.isAtEnd
        else { return nil }
        setting = RemoteBarrier.Setting(
            general: general, exceptions: Dictionary(exceptions) { $1 }, isFlushable: flushable == 1)
        registration = RemoteBarrierRegistration(
            scopes: scopes.map(BarrierScope.init(rawValue:)), state: general.state, isFlushable: flushable == 1,
            onDisconnect: onDisconnect)
        self.owner = owner
    }
}

extension RemoteBarrierRegistration.OnDisconnect {
    /// True if the barrier stays when its owner disconnects, and across a restart of the daemon.
    var stays: Bool { self != .unregister }

    fileprivate var code: UInt8 {
        switch self {
        case .unregister: 0
        case .open: 1
        case .close: 2
        case .keep: 3
        }
    }

    fileprivate init?(code: UInt8) {
        guard let word = Self.allCases.first(where: { $0.code == code && $0.stays }) else { return nil }
        self = word
    }
}

extension [UInt8] {
    fileprivate mutating func put(count: Int) { self += LittleEndian.bytes(UInt16(clamping: count)) }

    fileprivate mutating func put(_ text: String) {
        put(count: text.utf8.count)
        self += text.utf8.prefix(Int(UInt16.max))
    }

    fileprivate mutating func put(_ statement: RemoteBarrier.Statement) {
        append(statement.state == .closed ? 1 : 0)
        append(statement.reason == nil ? 0 : 1)
        if let reason = statement.reason { put(reason) }
    }
}

/// A reader of stored bytes, which reads them in order. Each function returns nil if its part is missing or malformed.
private struct KeptReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func byte() -> UInt8? { rest.popFirst() }

    mutating func count() -> Int? {
        guard let low = byte(), let high = byte() else { return nil }
        return Int(low) | Int(high) << 8
    }

    mutating func text() -> String? {
        guard let count = count(), count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return String(validating: rest.prefix(count), as: UTF8.self)
    }

    mutating func list<Element>(_ element: (inout Self) -> Element?) -> [Element]? {
        guard let count = count() else { return nil }
        var elements: [Element] = []
        for _ in 0..<count {
            guard let next = element(&self) else { return nil }
            elements.append(next)
        }
        return elements
    }

    mutating func statement() -> RemoteBarrier.Statement? {
        guard let state = byte(), state <= 1, let hasReason = byte(), hasReason <= 1 else { return nil }
        var statement = RemoteBarrier.Statement(state: state == 1 ? .closed : .open)
        guard hasReason == 1 else { return statement }
        guard let reason = text() else { return nil }
        statement.reason = reason
        return statement
    }
}
