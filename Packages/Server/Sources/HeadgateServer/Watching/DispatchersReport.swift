import HeadgateCore
import HeadgateData

/// The topic `dispatchers`: those that changed, as `dispatcher.list` has them.
struct DispatchersReport: TopicReport {
    private var told = ToldEntries<DispatcherSummary>(by: \.id)

    mutating func news(from service: Service) -> ((inout JSONWriter) -> Void)? {
        let summaries = service.gate.dispatcherSummaries
        guard let news = told.tell(summaries.map(\.withoutAge)) else { return nil }
        return { writer in
            writer.dispatchers(news.changed.map { summaries[$0] })
            writer.member("removed", item: .array(news.removed.map { .string($0) }))
        }
    }
}

extension DispatcherSummary {
    /// That an event grows older is no change.
    fileprivate var withoutAge: DispatcherSummary {
        var summary = self
        summary.oldest = nil
        return summary
    }
}
