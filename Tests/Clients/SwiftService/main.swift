import HeadgateClient
import ServiceLifecycle

// Runs the client as the documented service: tracks events while it runs, and stops gracefully. The argument is the socket.
let client = try HeadgateClient(socketPath: CommandLine.arguments[1], name: "shop", version: "2.1")
let service = Task { try await HeadgateService(client: client).run() }
for _ in 1...100 { client.trackSoon("page_viewed") }
GracefulShutdown.begin()
try await service.value
do {
    _ = try await client.track("late")
} catch ClientError.closed {
    print("closed")
}
