import HeadgateCore
import HeadgateData
import HeadgateServer

/// Hides a card's number but for its last digits: `4111111111111111` becomes `************1111`.
struct CardMask: Transformer {
    let path: EventPath
    let kept: Int

    func transform(_ event: EventDocument, dispatcher: String?) throws -> EventDocument? {
        guard case .string(let number) = event[path] else { return event }
        var event = event
        let hidden = String(repeating: "*", count: max(0, number.count - kept))
        try event.set(.string(hidden + number.suffix(kept)), at: path)
        return event
    }

    struct Factory: TransformerFactory {
        let kind = "card_mask"

        func makeTransformer(
            transformation id: String, configuration: DataObject, on scheduler: any Scheduler
        ) throws -> any Transformer {
            guard let path: String = configuration.get(key: "path") else { throw Fault.noPath }
            return CardMask(path: EventPath(path), kept: configuration.get(key: "kept") ?? 4)
        }
    }

    enum Fault: String, Error, CustomStringConvertible {
        case noPath = "configuration.path is required"

        var description: String { rawValue }
    }
}
