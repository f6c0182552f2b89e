import HeadgateClient

func trackAndClose() async throws {
    let client = try HeadgateClient(name: "shop", version: "2.1")
    try await client.track("signup", data: ["plan": "free"])
    client.trackSoon("page", data: ["path": "/"])
    let left = await client.close(within: .seconds(5))
    print("\(left) events were not acknowledged")
}

func watchfulOptions() -> ClientOptions {
    var options = ClientOptions()
    options.onState = { state in
        if case .disconnected(let error) = state { print("events wait: \(error)") }
    }
    options.onDropped = { id, error in print("event \(id) is not stored: \(error)") }
    return options
}
