import HeadgateCore
import HeadgateData

/// The topic `outcomes`: what became of events since the last notification, by dispatcher. The first one counts from the
/// service's start, so that the sum of all is what `dispatcher.list` says.
struct OutcomesReport: TopicReport {
    private var told: [String: DispatcherOutcomes]?

    mutating func news(from service: Service) -> ((inout JSONWriter) -> Void)? {
        let outcomes = service.gate.outcomes
        let old = told ?? [:]
        let changed = outcomes.filter { old[$0.dispatcher] != $0 }
        guard told == nil || !changed.isEmpty else { return nil }
        told = Dictionary(outcomes.map { ($0.dispatcher, $0) }) { first, _ in first }
        let news = changed.map { now in old[now.dispatcher].map { now.since($0) } ?? now }
        return { $0.outcomes(news) }
    }
}

extension JSONWriter {
    fileprivate mutating func outcomes(_ outcomes: [DispatcherOutcomes]) {
        member("outcomes")
        beginArray()
        for outcome in outcomes {
            element()
            beginObject()
            member("dispatcher", outcome.dispatcher)
            member("delivered", outcome.delivered)
            member("retried", outcome.retried)
            member("dead", outcome.dead)
            member("expired", outcome.expired)
            member("evicted", outcome.evicted)
            member("last_error", item: outcome.lastError.map { .string($0) } ?? .null)
            endObject()
        }
        endArray()
    }
}
