import HeadgateCore
import HeadgateData

/// The topic `barriers`: those that changed, as `barrier.list` has them, and those that are gone.
struct BarriersReport: TopicReport {
    private var told = ToldEntries<BarrierSummary>(by: \.identity.id)

    mutating func news(from service: Service) -> ((inout JSONWriter) -> Void)? {
        let summaries = service.gate.barrierSummaries
        guard let news = told.tell(summaries) else { return nil }
        return { writer in
            writer.barriers(news.changed.map { summaries[$0] })
            writer.member("removed", item: .array(news.removed.map { .string($0) }))
        }
    }
}
