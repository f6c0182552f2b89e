import HeadgateCore
import HeadgateData

@testable import HeadgateServer

/// A program's own transformations: `"kind": "mark"`. The account is notified of dropped events and of errors.
struct MarkKind: TransformerFactory {
    let kind = "mark"
    let account: RuleAccount

    func makeTransformer(
        transformation id: String, configuration: DataObject, on scheduler: any Scheduler
    ) throws -> any Transformer {
        guard let word = configuration.get(key: "word", as: String.self),
            let work = configuration.get(key: "work", as: String.self).flatMap(Rulebook.Mark.Work.init)
        else { throw Violation(description: "a transformation of kind mark needs word and work") }
        return MarkTransformer(word: word, work: work, account: account)
    }
}

private struct MarkTransformer: Transformer {
    let word: String
    let work: Rulebook.Mark.Work
    let account: RuleAccount

    func transform(_ event: EventDocument, dispatcher: String?) throws -> EventDocument? {
        var event = event
        switch work {
        case .add:
            let trail = event.data["trail"].flatMap(String.init(dataItem:)) ?? ""
            event.data["trail"] = .string(trail + word)
        case .drop:
            account.dropped(event.sequenceNumber, for: dispatcher)
            return nil
        case .fail, .seal:
            account.failed()
            throw Violation(description: "a mark that must fail")
        }
        return event
    }
}
