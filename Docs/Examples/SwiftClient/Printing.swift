import HeadgateClient

struct Label: Decodable {
    var label: String
}

func printLabels(with client: HeadgateClient) async throws {
    try await client.work(for: "print", as: Label.self, credit: 4) { event in
        print(event.data.label)
        return .delivered
    }
}
