import HeadgateClient
import HeadgateData

func track(with client: HeadgateClient) async throws {
    try await client.track("cart", data: ["items": 3, "price": 9.99, "paid": true])
    try await client.track("signup", data: ["plan": "free"])  // returns when it is stored
    let ticks = (1...1_000).map { OutgoingEvent("tick", data: ["n": .number(DataNumber($0))]) }
    for result in await client.trackEach(ticks) {  // many in flight at once
        if case .failure(let error) = result { print(error) }
    }
    let answer = try await client.flush(wait: true, timeout: .seconds(5))
    print("flush:", answer?.ended.rawValue ?? "unknown")
}
