import HeadgateData

/// A value within an event that is being transformed. Parts that no transformation touches stay the text that was sent,
/// byte by byte (Behaviour P6). Text is parsed only as far as paths lead into it.
enum EventNode: Sendable {
    /// A range of the event's text.
    case text(Range<Int>)
    /// A parsed object. Members with the same name are not merged.
    case object([Member])
    /// A parsed array.
    case array([EventNode])
    /// A value that a transformation has set.
    case item(DataItem)
    /// A removed value. It keeps its position until the transformation has ended, so that paths still refer to the
    /// event as it came.
    case gone

    /// A member of an object.
    struct Member: Sendable {
        var name: Name
        var node: EventNode
    }

    /// A member's name.
    enum Name: Sendable {
        /// A range of the event's text, with quotes.
        case text(Range<Int>)
        /// A name that a transformation has set.
        case word(String)
    }

    var isGone: Bool {
        if case .gone = self { true } else { false }
    }
}

/// The text of an event, to which nodes refer.
struct EventText: Sendable {
    let bytes: [UInt8]

    func outline<Result>(_ body: (JSONOutline) -> Result) -> Result {
        bytes.withUnsafeBytes { body(JSONOutline($0)) }
    }
}

extension EventNode.Name {
    func equals(_ name: String, in text: EventText) -> Bool {
        switch self {
        case .text(let range): text.outline { $0.string(range, equals: name) }
        case .word(let word): word.utf8.elementsEqual(name.utf8)
        }
    }

    func word(in text: EventText) -> String {
        switch self {
        case .text(let range): text.outline { $0.string(range) }
        case .word(let word): word
        }
    }
}

// MARK: - Reading

extension EventNode {
    /// Returns the node at a path from here, or nil if there is none. If a name repeats, the last member counts.
    func node(at names: ArraySlice<String>, in text: EventText) -> EventNode? {
        guard let name = names.first else { return isGone ? nil : self }
        return child(named: name, in: text)?.node(at: names.dropFirst(), in: text)
    }

    private func child(named name: String, in text: EventText) -> EventNode? {
        switch self {
        case .text(let range): return EventNode.child(named: name, of: range, in: text).map { .text($0) }
        case .object(let members):
            return members.last { !$0.node.isGone && $0.name.equals(name, in: text) }?.node
        case .array(let nodes): return EventPath.index(named: name, in: nodes.count).map { nodes[$0] }
        case .item(let item): return item.value(at: [name]).map { .item($0) }
        case .gone: return nil
        }
    }

    private static func child(named name: String, of range: Range<Int>, in text: EventText) -> Range<Int>? {
        text.outline { outline in
            if outline.kind(of: range) == .array {
                let elements = outline.elements(of: range)
                return EventPath.index(named: name, in: elements.count).map { elements[$0] }
            }
            var found: Range<Int>?
            outline.eachMember(of: range) { member in
                if outline.string(member.name, equals: name) { found = member.value }
                return true
            }
            return found
        }
    }

    /// Returns the value as programs see it: lone surrogates are U+FFFD, and if a name repeats, the last member is
    /// kept.
    func item(in text: EventText) -> DataItem {
        switch self {
        case .text(let range): text.outline { $0.item(range) }
        case .object(let members):
            .object(
                DataObject(
                    members.lazy.filter { !$0.node.isGone }.map { ($0.name.word(in: text), $0.node.item(in: text)) }))
        case .array(let nodes): .array(nodes.filter { !$0.isGone }.map { $0.item(in: text) })
        case .item(let item): item
        case .gone: .null
        }
    }

    /// Returns the value as conditions see it.
    func field(in text: EventText) -> FieldValue {
        switch self {
        case .text(let range):
            text.outline { outline in
                switch outline.kind(of: range) {
                case .object: .object(isEmpty: outline.members(of: range).isEmpty)
                case .array: .array(isEmpty: outline.elements(of: range).isEmpty)
                default: FieldValue(outline.item(range))
                }
            }
        case .object, .array, .item, .gone: FieldValue(item(in: text))
        }
    }

    /// Returns the depth of nested arrays and objects; 0 for a value that is neither.
    func depth(in text: EventText) -> Int {
        switch self {
        case .text(let range): text.outline { $0.depth(of: range) }
        case .object(let members): 1 + (members.map { $0.node.depth(in: text) }.max() ?? 0)
        case .array(let nodes): 1 + (nodes.map { $0.depth(in: text) }.max() ?? 0)
        case .item(let item): item.depth
        case .gone: 0
        }
    }

    /// Writes the value. A removed node writes nothing.
    func write(into writer: inout JSONWriter, _ text: EventText) {
        switch self {
        case .text(let range): text.bytes.withUnsafeBytes { writer.raw(UnsafeRawBufferPointer(rebasing: $0[range])) }
        case .object(let members):
            writer.beginObject()
            for member in members where !member.node.isGone {
                writer.element()
                switch member.name {
                case .text(let range):
                    text.bytes.withUnsafeBytes { writer.raw(UnsafeRawBufferPointer(rebasing: $0[range])) }
                case .word(let word): writer.string(word)
                }
                writer.raw(":")
                member.node.write(into: &writer, text)
            }
            writer.endObject()
        case .array(let nodes):
            writer.beginArray()
            for node in nodes where !node.isGone {
                writer.element()
                node.write(into: &writer, text)
            }
            writer.endArray()
        case .item(let item): writer.item(item)
        case .gone: break
        }
    }
}

extension DataItem {
    /// The depth of nested arrays and objects; 0 for a value that is neither.
    fileprivate var depth: Int {
        switch self {
        case .object(let object): 1 + (object.map { $0.value.depth }.max() ?? 0)
        case .array(let items): 1 + (items.map(\.depth).max() ?? 0)
        case .null, .bool, .number, .string: 0
        }
    }

    /// Returns the value at a path from here, or nil if there is none.
    func value(at names: ArraySlice<String>) -> DataItem? {
        guard let name = names.first else { return self }
        return switch self {
        case .object(let object): object[name]?.value(at: names.dropFirst())
        case .array(let items):
            EventPath.index(named: name, in: items.count).flatMap { items[$0].value(at: names.dropFirst()) }
        case .null, .bool, .number, .string: nil
        }
    }
}

// MARK: - Changing

extension EventNode {
    /// Changes the value at a path from here, in each of several members with the same name.
    /// - Parameters:
    ///   - names: the path.
    ///   - text: the event's text.
    ///   - making: true to create missing objects on the path, and to keep one of several members with the last name.
    ///   - body: gets the node; it is `gone` if it was created.
    /// - Returns: true if there was a value to change.
    @discardableResult
    mutating func change(
        at names: ArraySlice<String>, in text: EventText, making: Bool = false, _ body: (inout EventNode) -> Void
    ) throws(TransformationFault) -> Bool {
        guard let name = names.first else {
            guard making || !isGone else { return false }
            body(&self)
            return true
        }
        let rest = names.dropFirst()
        switch expanded(in: text, making: making) {
        case .object(var members):
            self = .gone
            defer { self = .object(members) }
            return try EventNode.change(&members, name, rest, in: text, making: making, body)
        case .array(var nodes):
            guard let index = EventPath.index(named: name, in: nodes.count) else {
                if making { throw .noPath }
                return false
            }
            self = .gone
            defer { self = .array(nodes) }
            return try nodes[index].change(at: rest, in: text, making: making, body)
        case .gone: return false
        case .text, .item:
            if making { throw .noPath }
            return false
        }
    }

    private static func change(
        _ members: inout [Member], _ name: String, _ rest: ArraySlice<String>, in text: EventText, making: Bool,
        _ body: (inout EventNode) -> Void
    ) throws(TransformationFault) -> Bool {
        var indexes = members.indices.filter { members[$0].name.equals(name, in: text) }
        if indexes.isEmpty, making {
            indexes = [members.count]
            members.append(Member(name: .word(name), node: .gone))
        }
        if making, rest.isEmpty {
            for index in indexes.dropFirst() { members[index].node = .gone }
            indexes = Array(indexes.prefix(1))
        }
        var isFound = false
        for index in indexes {
            let isChanged = try members[index].node.change(at: rest, in: text, making: making, body)
            isFound = isFound || isChanged
        }
        return isFound
    }

    /// Returns the node with its outermost members or elements parsed.
    private func expanded(in text: EventText, making: Bool) -> EventNode {
        switch self {
        case .text(let range):
            text.outline { outline in
                switch outline.kind(of: range) {
                case .object:
                    .object(
                        outline.members(of: range).map { Member(name: .text($0.name), node: .text($0.value)) })
                case .array: .array(outline.elements(of: range).map { .text($0) })
                default: self
                }
            }
        case .item(.object(let object)): .object(object.map { Member(name: .word($0.key), node: .item($0.value)) })
        case .item(.array(let items)): .array(items.map { .item($0) })
        case .gone where making: .object([])
        case .object, .array, .item, .gone: self
        }
    }

    /// Removes all nodes that are gone.
    mutating func sweep() {
        switch self {
        case .object(var members):
            self = .gone
            members.removeAll { $0.node.isGone }
            for index in members.indices { members[index].node.sweep() }
            self = .object(members)
        case .array(var nodes):
            self = .gone
            nodes.removeAll(where: \.isGone)
            for index in nodes.indices { nodes[index].sweep() }
            self = .array(nodes)
        case .text, .item, .gone: break
        }
    }

    /// Returns a node for a value that a program has set in place of another. Unchanged parts keep their text.
    static func merged(_ item: DataItem, over old: EventNode, in text: EventText) -> EventNode {
        let former = old.item(in: text)
        if former.isExactly(item) { return old }
        switch (item, old.expanded(in: text, making: false)) {
        case (.object(let object), .object(let members)):
            return .object(object.flatMap { merged($0.key, $0.value, over: members, in: text) })
        case (.array(let items), .array(let nodes)):
            return .array(merged(items, over: nodes, in: text))
        default: return .item(item)
        }
    }

    private static func merged(
        _ name: String, _ item: DataItem, over members: [Member], in text: EventText
    ) -> [Member] {
        let old = members.filter { !$0.node.isGone && $0.name.word(in: text).utf8.elementsEqual(name.utf8) }
        guard let last = old.last else { return [Member(name: .word(name), node: .item(item))] }
        if last.node.item(in: text).isExactly(item) { return old }
        return [Member(name: last.name, node: merged(item, over: last.node, in: text))]
    }

    /// Merges an array: equal elements at the beginning and the end keep their text. The elements in between are merged
    /// one by one if their number is unchanged.
    private static func merged(_ items: [DataItem], over nodes: [EventNode], in text: EventText) -> [EventNode] {
        let former = nodes.map { $0.item(in: text) }
        let shorter = min(items.count, nodes.count)
        var head = 0
        while head < shorter, former[head].isExactly(items[head]) { head += 1 }
        var tail = 0
        while tail < shorter - head, former[nodes.count - 1 - tail].isExactly(items[items.count - 1 - tail]) {
            tail += 1
        }
        let middle = items[head..<items.count - tail]
        let isAsMany = items.count == nodes.count
        let made = middle.indices.map { isAsMany ? merged(items[$0], over: nodes[$0], in: text) : .item(items[$0]) }
        return nodes[..<head] + made + nodes[(nodes.count - tail)...]
    }
}

extension DataItem {
    /// Returns true if both values are equal with strings compared byte by byte. Swift compares strings by canonical
    /// equivalence.
    fileprivate func isExactly(_ other: DataItem) -> Bool {
        switch (self, other) {
        case (.string(let one), .string(let other)): one.utf8.elementsEqual(other.utf8)
        case (.array(let one), .array(let other)):
            one.count == other.count && zip(one, other).allSatisfy { $0.isExactly($1) }
        case (.object(let one), .object(let other)):
            one.count == other.count
                && zip(one, other).allSatisfy {
                    $0.key.utf8.elementsEqual($1.key.utf8) && $0.value.isExactly($1.value)
                }
        default: self == other
        }
    }
}

extension EventNode {
    /// Returns the bytes of a string with lone surrogates kept, or nil for another type of value.
    func exactString(in text: EventText) -> [UInt8]? {
        switch self {
        case .text(let range): text.outline { $0.kind(of: range) == .string ? $0.exactString(range) : nil }
        case .item(.string(let string)): Array(string.utf8)
        case .object, .array, .item, .gone: nil
        }
    }
}
