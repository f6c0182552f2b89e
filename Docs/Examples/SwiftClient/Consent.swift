import HeadgateClient

func askForConsent(with client: HeadgateClient) async throws {
    let consent = try await client.barrier(
        "consent", .closed, scopes: ["collect"], flushable: false, onDisconnect: .close)
    print("Send what was collected? (yes/no)")
    if readLine() == "yes" {
        try await consent.set(.open, reason: "given")
        try await client.flush(dispatchers: ["collect"], wait: true)
    }
    try await consent.unregister()
}
