import HeadgateData

/// An event during transformations: its members as they are delivered, in order. Parts that no transformation touches
/// are sent byte by byte as they came (Behaviour P6). The name, key, data and context may be changed.
public struct EventDocument: Sendable {
    private let text: EventText
    /// The whole event, an object.
    private var root: EventNode
    /// True if anything was changed. An unchanged event is sent as it is stored.
    private(set) var isTouched = false

    /// True if anything was changed.
    public var isChanged: Bool { isTouched }

    /// Creates a document from an event in its delivered form; nil if the bytes are not an object.
    /// - Parameter json: valid JSON.
    init?(json: [UInt8]) {
        text = EventText(bytes: json)
        let members = text.outline { outline -> [EventNode.Member]? in
            guard outline.kind(of: outline.whole) == .object else { return nil }
            return outline.members(of: outline.whole).map {
                EventNode.Member(name: .text($0.name), node: .text($0.value))
            }
        }
        guard let members else { return nil }
        root = .object(members)
    }

    /// Creates a document from members.
    init(members: DataObject) {
        text = EventText(bytes: [])
        root = .object(members.map { EventNode.Member(name: .word($0.key), node: .item($0.value)) })
    }

    public var id: String { text(.id) ?? "" }
    /// The sequence number; nil before the event is stored.
    public var sequenceNumber: SequenceNumber? {
        item(.sequenceNumber).flatMap(Int.init(dataItem:)).map(Int64.init)
    }
    /// The client's time, or else the time of receipt, in RFC 3339.
    public var time: String? { text(.time) }

    /// The event's name. It is never empty.
    public var event: String {
        get { text(.event) ?? "" }
        set { put(.event, .string(newValue)) }
    }

    /// The key for ordering. A change before the event is stored affects the order; a later change only affects the
    /// delivered value.
    public var key: String? {
        get { text(.key) }
        set { put(.key, newValue.map { .string($0) }) }
    }

    /// The client's data, with `was_queued` and other annotations if the event was held (Behaviour D13).
    public var data: DataObject {
        get { object(.data) }
        set { put(.data, .object(newValue)) }
    }

    /// The context from the collectors (Behaviour P2).
    public var context: DataObject {
        get { object(.context) }
        set { put(.context, .object(newValue)) }
    }

    // MARK: Members

    private func node(_ member: EventMember) -> EventNode? {
        root.node(at: [member.rawValue], in: text)
    }

    private func item(_ member: EventMember) -> DataItem? {
        node(member)?.item(in: text)
    }

    func text(_ member: EventMember) -> String? {
        item(member).flatMap(String.init(dataItem:))
    }

    private func object(_ member: EventMember) -> DataObject {
        item(member).flatMap(DataObject.init(dataItem:)) ?? [:]
    }

    private mutating func put(_ member: EventMember, _ value: DataItem?) {
        let old = node(member)
        isTouched = true
        let text = text
        // The path to a member of the event itself always exists.
        _ = try? root.change(at: [member.rawValue], in: text, making: true) { node in
            guard let value else {
                node = .gone
                return
            }
            node = old.map { EventNode.merged(value, over: $0, in: text) } ?? .item(value)
        }
        root.sweep()
    }

    // MARK: Rendering

    /// The size of the event as it came, in bytes.
    var byteCount: Int { text.bytes.count }

    /// The event in its delivered form.
    var json: [UInt8] {
        var writer = JSONWriter(capacity: text.bytes.count)
        root.write(into: &writer, text)
        return writer.bytes
    }

    /// Returns a member in its delivered form, or nil if there is none.
    public func json(of member: EventMember) -> [UInt8]? {
        node(member).map { node in
            var writer = JSONWriter()
            node.write(into: &writer, text)
            return writer.bytes
        }
    }

    // MARK: Soundness

    /// True if the event can be delivered.
    var isSound: Bool { fault(within: .none) == nil }

    /// Returns the fault that prevents the event from being delivered, or by which it exceeds the limits of tracked
    /// events, or nil if there is none (Behaviour P4).
    func fault(within limits: EventLimits) -> TransformationFault? {
        for member in [EventMember.event, .key, .data, .context] {
            guard let node = node(member) else {
                if member == .key { continue }
                return .notAnEvent
            }
            if let fault = EventDocument.fault(of: node, as: member, in: text, limits) { return fault }
        }
        return root.depth(in: text) > limits.mostDepth ? .tooDeep : nil
    }

    /// Returns the fault of a value as a whole member of an event, or nil if there is none.
    private static func fault(
        of node: EventNode, as member: EventMember, in text: EventText, _ limits: EventLimits
    ) -> TransformationFault? {
        switch (member, node.field(in: text)) {
        case (.data, .object), (.context, .object): nil
        case (.event, .string(let word)), (.key, .string(let word)):
            word.isEmpty ? .notAnEvent : word.utf8.count > limits.longestWord ? .tooLarge : nil
        default: .notAnEvent
        }
    }
}

/// The limits of events, both as clients track them and as transformations leave them (Behaviour P4).
public struct EventLimits: Sendable, Equatable {
    /// The deepest nesting of arrays and objects in a delivered event, including the event itself.
    public var mostDepth = 64
    /// The largest delivered event in bytes.
    public var mostBytes = 1 << 20
    /// The longest name and the longest key in bytes.
    public var longestWord = 1024

    public init() {}

    static let none: EventLimits = {
        var limits = EventLimits()
        (limits.mostDepth, limits.mostBytes, limits.longestWord) = (.max, .max, .max)
        return limits
    }()
}

extension EventDocument: Equatable {
    /// Two documents are equal if programs see the same members in them.
    public static func == (one: EventDocument, other: EventDocument) -> Bool {
        one.root.item(in: one.text) == other.root.item(in: other.text) && one.isTouched == other.isTouched
    }
}

// MARK: - Paths

extension EventDocument {
    /// The value at a path; nil if there is none.
    public subscript(path: EventPath) -> DataItem? {
        root.node(at: path.steps, in: text)?.item(in: text)
    }

    /// Sets the value at a path. Missing objects on the path are created.
    public mutating func set(_ value: DataItem, at path: EventPath) throws(TransformationFault) {
        try change(path, making: true) { $0 = .item(value) }
        root.sweep()
    }

    /// Removes and returns the value at a path, or returns nil if there is none. If the path is the whole data or
    /// context, an empty object is left.
    @discardableResult
    public mutating func remove(at path: EventPath) throws(TransformationFault) -> DataItem? {
        guard let removed = try take(path)?.item(in: text) else { return nil }
        root.sweep()
        return removed
    }

    /// Changes the value at a path.
    /// - Returns: true if there was a value to change.
    @discardableResult
    private mutating func change(
        _ path: EventPath, making: Bool = false, _ body: (inout EventNode) -> Void
    ) throws(TransformationFault) -> Bool {
        guard path.member.isChangeable else { throw .cannotBeChanged(path.member) }
        var changed = root
        guard try changed.change(at: path.steps, in: text, making: making, body) else { return false }
        root = changed
        isTouched = true
        return true
    }

    /// Takes out a node, which keeps its position until ``sweep()``; nil if there is none.
    private mutating func take(_ path: EventPath) throws(TransformationFault) -> EventNode? {
        guard path.member.isChangeable else { throw .cannotBeChanged(path.member) }
        guard let node = root.node(at: path.steps, in: text) else { return nil }
        if path.names.isEmpty, path.member == .event { throw .cannotBeChanged(.event) }
        let isWhole = path.names.isEmpty && path.member != .key
        try change(path) { $0 = isWhole ? .item([:]) : .gone }
        return node
    }
}

// MARK: - Edits

extension EventDocument {
    /// A value that is moved from one path to another.
    struct Moved {
        let renaming: EventEdit.Renaming
        let node: EventNode
        /// True if the value itself was hashed.
        let isHashed: Bool
    }

    /// Takes out a value to move. Parts of the value that are to be hashed or removed are hashed or removed all the same.
    /// - Returns: nil if there is no value, or if it is to be removed.
    mutating func take(
        _ renaming: EventEdit.Renaming, hashes: [EventPath], removals: [EventPath],
        _ hash: (EventNode, EventText) -> String
    ) throws(TransformationFault) -> Moved? {
        guard var node = try take(renaming.old), !removals.contains(renaming.old) else { return nil }
        let text = text
        for path in hashes where path != renaming.old {
            guard let rest = path.steps(behind: renaming.old) else { continue }
            try node.change(at: rest, in: text) { $0 = .item(.string(hash($0, text))) }
        }
        for path in removals {
            guard let rest = path.steps(behind: renaming.old) else { continue }
            try node.change(at: rest, in: text) { $0 = .gone }
        }
        let isHashed = hashes.contains(renaming.old)
        if isHashed { node = .item(.string(hash(node, text))) }
        return Moved(renaming: renaming, node: node, isHashed: isHashed)
    }

    /// Puts a moved value at its new path.
    mutating func insert(_ moved: Moved, _ limits: EventLimits) throws(TransformationFault) {
        try put(moved.node, at: moved.renaming.new, limits)
    }

    /// Puts a moved value back at its old path, unless another value is there by now.
    mutating func putBack(_ moved: Moved) throws(TransformationFault) {
        guard root.node(at: moved.renaming.old.steps, in: text) == nil || moved.renaming.old.names.isEmpty else {
            return
        }
        try change(moved.renaming.old, making: true) { $0 = moved.node }
    }

    /// Sets the value at a path.
    mutating func put(_ value: DataItem, at path: EventPath, _ limits: EventLimits) throws(TransformationFault) {
        try put(.item(value), at: path, limits)
    }

    private mutating func put(
        _ node: EventNode, at path: EventPath, _ limits: EventLimits
    ) throws(TransformationFault) {
        guard path.member.isChangeable else { throw .cannotBeChanged(path.member) }
        if path.names.isEmpty, let fault = EventDocument.fault(of: node, as: path.member, in: text, limits) {
            throw fault
        }
        guard 1 + path.names.count + node.depth(in: text) <= limits.mostDepth else { throw .tooDeep }
        try change(path, making: true) { $0 = node }
    }

    /// Replaces the value at a path with its hash.
    mutating func hash(_ path: EventPath, _ hash: (EventNode, EventText) -> String) throws(TransformationFault) {
        let isWhole = path.names.isEmpty && (path.member == .data || path.member == .context)
        guard !isWhole else { throw .notAnEvent }
        let text = text
        try change(path) { $0 = .item(.string(hash($0, text))) }
    }

    /// Removes the value at a path.
    mutating func drop(_ path: EventPath) throws(TransformationFault) {
        _ = try take(path)
    }

    /// Ends a transformation: removed values no longer keep their positions.
    mutating func sweep() {
        root.sweep()
    }
}

extension EventPath {
    /// The names from the event on.
    fileprivate var steps: ArraySlice<String> { [member.rawValue] + names }

    /// Returns the names from another path's end to this path's end, or nil if this path is not deeper.
    fileprivate func steps(behind path: EventPath) -> ArraySlice<String>? {
        guard path.member == member, names.count > path.names.count, names.starts(with: path.names) else { return nil }
        return names[path.names.count...]
    }
}

extension EventMember {
    /// True if transformations may change the member.
    public var isChangeable: Bool {
        switch self {
        case .event, .key, .context, .data: true
        case .id, .sequenceNumber, .time, .receivedAt, .attempt: false
        }
    }
}

extension EventDocument: EventFields {
    public func value(at path: EventPath) -> FieldValue? {
        root.node(at: path.steps, in: text)?.field(in: text)
    }
}
