import HeadgateClient
import HeadgateData

func printLabels(with client: HeadgateClient) async throws {
    try await client.work(for: "print", credit: 4) { batch in
        var outcomes: [String: DeliveredEventOutcome] = [:]
        for event in batch.events {
            guard let id: String = event.get(key: "id") else { continue }
            let label = event.get(key: "data", as: DataObject.self)?.get(key: "label", as: String.self)
            if let label { print(label) } else { outcomes[id] = .dead }
        }
        return outcomes  // events that are not named are delivered
    }
}
