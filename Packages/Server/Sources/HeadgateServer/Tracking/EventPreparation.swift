import HeadgateCore
import HeadgateData
import HeadgateWire

/// The step that applies transformations (Behaviour P4) and then load rules (Behaviour P3) to an event before it is
/// stored. Events skip the step if there are neither.
final class EventPreparation {
    private let gate: Headgate
    private let transformations: Transformations
    private let loadRules: LoadRouter
    private let fields: TrackedFields
    /// Holds the bytes that transformations write.
    private let arena: ByteArena

    init(gate: Headgate, arena: ByteArena) {
        self.gate = gate
        (transformations, loadRules) = (gate.transformations, gate.loadRules)
        self.arena = arena
        fields = TrackedFields(scheduler: gate.scheduler)
    }

    /// A Boolean value that says whether any transformation or load rule applies before the store.
    var isNeeded: Bool { transformations.areAfterCollectors || !loadRules.isEmpty }

    /// Applies the transformations and the load rules to an event.
    /// - Returns: the event with the dispatchers whose load rules accept it, valid until the arena is cleared, or nil
    ///   if a transformation dropped it.
    /// - Throws: `limit` if the event would need a new route and there are too many routes.
    func prepare(_ event: TrackedEvent) throws(RPCError) -> TrackedEvent? {
        guard var prepared = transformations.areAfterCollectors ? transform(event) : event else { return nil }
        guard !loadRules.isEmpty else { return prepared }
        fields.event = prepared
        defer { fields.event = nil }
        do throws(TooManyRoutes) {
            prepared.route = try gate.route(prepared.route, for: fields)
        } catch {
            throw RPCError(error)
        }
        return prepared
    }

    private func transform(_ event: TrackedEvent) -> TrackedEvent? {
        guard let result = transformations.transformAfterCollectors(json(of: event)) else { return event }
        guard let document = result.marked else { return nil }
        return document.isChanged ? rewrite(event, as: document) : event
    }

    /// Returns the event as it would be delivered, without the members that only the store knows.
    private func json(of event: TrackedEvent) -> [UInt8] {
        let received = gate.scheduler.wall
        var json = JSONWriter(capacity: event.data.count + event.context.count + 256)
        json.beginObject()
        json.member("id")
        json.raw(event.id)
        json.member("event")
        json.raw(event.name)
        json.member("time", event.time ?? received)
        json.member("received_at", received)
        if let key = event.key {
            json.member("key")
            json.raw(key)
        }
        json.member("context")
        json.raw(event.context)
        json.member("data")
        json.raw(event.data)
        json.endObject()
        return json.bytes
    }

    /// Returns the event with the transformation's name, key, context and data.
    private func rewrite(_ event: TrackedEvent, as document: EventDocument) -> TrackedEvent {
        var event = event
        event.name = document.json(of: .event).map(arena.keep) ?? event.name
        event.key = document.json(of: .key).map(arena.keep)
        event.context = document.json(of: .context).map(arena.keep) ?? event.context
        event.data = document.json(of: .data).map(arena.keep) ?? event.data
        return event
    }
}

/// The fields of a tracked event that is not stored yet, as conditions read them. A field is decoded only when a
/// condition reads it.
///
/// `seq` and `attempt` are not known yet. `time` is the time of receipt if the client gave none.
private final class TrackedFields {
    /// The event whose fields are read. Its bytes must stay valid until this property changes.
    var event: TrackedEvent? {
        didSet { (data, context) = (nil, nil) }
    }

    private let scheduler: any Scheduler
    private let dataScanner = JSONScanner(maxDepth: JSONScanner.greatestDepth)
    private let contextScanner = JSONScanner(maxDepth: JSONScanner.greatestDepth)
    private let wordScanner = JSONScanner()
    private var data: JSONView?
    private var context: JSONView?

    init(scheduler: any Scheduler) {
        self.scheduler = scheduler
    }

    // MARK: Reading

    // The whole message was scanned before, so scanning a part of it again finds no fault.

    private func dataView(_ event: TrackedEvent) -> JSONView? {
        data = data ?? (try? dataScanner.scan(event.data))
        return data
    }

    private func contextView(_ event: TrackedEvent) -> JSONView? {
        context = context ?? (try? contextScanner.scan(event.context))
        return context
    }

    /// Returns the contents of a JSON string, with its escapes resolved.
    private func word(_ json: UnsafeRawBufferPointer) -> String {
        guard json.contains(UInt8(ascii: "\\")) else {
            return String(decoding: json.dropFirst().dropLast(), as: UTF8.self)
        }
        return (try? wordScanner.scan(json))?.string ?? ""
    }
}

extension TrackedFields: EventFields {
    func value(at path: EventPath) -> FieldValue? {
        guard let event else { return nil }
        switch path.member {
        case .data: return dataView(event)?.value(at: path.names).map(FieldValue.init)
        case .context: return contextView(event)?.value(at: path.names).map(FieldValue.init)
        default: return path.names.isEmpty ? word(path.member, of: event).map(FieldValue.string) : nil
        }
    }

    private func word(_ member: EventMember, of event: TrackedEvent) -> String? {
        switch member {
        case .id: word(event.id)
        case .event: word(event.name)
        case .key: event.key.map(word)
        case .time: (event.time ?? scheduler.wall).text
        case .receivedAt: scheduler.wall.text
        case .sequenceNumber, .attempt, .context, .data: nil
        }
    }
}

extension JSONView {
    /// Returns the value at a path of names, as ``EventPath`` defines it, or nil if there is none. If several members
    /// have the same name, the last one counts.
    func value(at names: [String]) -> JSONView? {
        var value = self
        for name in names {
            guard let next = value.member(named: name) ?? value.element(named: name) else { return nil }
            value = next
        }
        return value
    }

    private func member(named name: String) -> JSONView? {
        guard let members else { return nil }
        var found: JSONView?
        for (key, value) in members where key.isString(name) { found = value }
        return found
    }

    private func element(named name: String) -> JSONView? {
        guard let elements, let index = EventPath.index(named: name, in: elements.count) else { return nil }
        return elements.dropFirst(index).first { _ in true }
    }

    private func isString(_ text: String) -> Bool {
        guard let contents else { return string.map { $0.utf8.elementsEqual(text.utf8) } ?? false }
        return contents.count == text.utf8.count && contents.elementsEqual(text.utf8)
    }
}

extension FieldValue {
    /// Makes a field value of a value in a message. Elements of arrays and members of objects are not read.
    init(_ view: JSONView) {
        switch view.kind {
        case .null: self = .null
        case .bool: self = .bool(view.bool ?? false)
        case .number: self = view.number.map(FieldValue.number) ?? .null
        case .string: self = .string(view.string ?? "")
        case .array: self = .array(isEmpty: view.count == 0)
        case .object: self = .object(isEmpty: view.count == 0)
        }
    }
}
