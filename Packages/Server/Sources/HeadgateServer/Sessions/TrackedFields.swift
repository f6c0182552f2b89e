import HeadgateCore
import HeadgateData
import HeadgateWire

/// A tracked event as conditions look into it, before it is stored: what nobody asks for is not read.
///
/// `seq` and `attempt` are not known yet; `time` is the receipt's where the client gave none.
final class TrackedFields {
    /// The event that is looked into; its bytes have to stay while it is.
    var event: TrackedEvent? {
        didSet { (data, context) = (nil, nil) }
    }

    private let worker: any Worker
    private let dataScanner = JSONScanner(maxDepth: JSONScanner.greatestDepth)
    private let contextScanner = JSONScanner(maxDepth: JSONScanner.greatestDepth)
    private let wordScanner = JSONScanner()
    private var data: JSONView?
    private var context: JSONView?

    init(worker: any Worker) {
        self.worker = worker
    }

    /// The event's members as they would be delivered, as far as they are known; nil when there is no event.
    var members: DataObject? {
        guard let event else { return nil }
        let received = worker.wall
        var members: DataObject = [
            "id": .string(word(event.id)), "event": .string(word(event.name)),
            "time": .string((event.time ?? received).text), "received_at": .string(received.text),
        ]
        members["key"] = event.key.map { .string(word($0)) }
        members["context"] = contextView(event)?.item
        members["data"] = dataView(event)?.item
        return members
    }

    // MARK: Reading

    // The bytes were scanned with their message, so that scanning them alone finds them in order.

    private func dataView(_ event: TrackedEvent) -> JSONView? {
        data = data ?? (try? dataScanner.scan(event.data))
        return data
    }

    private func contextView(_ event: TrackedEvent) -> JSONView? {
        context = context ?? (try? contextScanner.scan(event.context))
        return context
    }

    /// A JSON string, unescaped.
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
        case .time: (event.time ?? worker.wall).text
        case .receivedAt: worker.wall.text
        case .sequenceNumber, .attempt, .context, .data: nil
        }
    }
}
