// The Swift client, by examples: `SwiftClientExample track|end|signup|watch|consent|greet|print`. The texts of the client's
// documentation have these functions, word for word, and a test runs them.
import HeadgateClient

let client = try HeadgateClient(name: "shop", version: "2.1")
switch CommandLine.arguments.dropFirst().first {
case "track": try await track(with: client)
case "end": try await trackAndClose()
case "signup":
    for seats in [3, 3] {
        print(await postSignup(Signup(plan: "free", seats: seats), requestID: "r-1", client: client))
    }
case "watch": try await watch(with: client)
case "consent": try await askForConsent(with: client)
case "greet": try await greet(with: client)
case "print": try await printLabels(with: client)
default: print("usage: SwiftClientExample track|end|signup|watch|consent|greet|print")
}
await client.close()
