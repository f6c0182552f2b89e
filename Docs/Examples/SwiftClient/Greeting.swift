import HeadgateClient

func greet(with client: HeadgateClient) async throws {
    try await withThrowingTaskGroup { group in
        group.addTask {
            try await client.serve("greeter") { activation in
                guard case .string(let name)? = activation.input else { return .refused }
                return .done(["text": .string("Hello \(name)")])
            }
        }
        let outcome = try await client.activate("greeter", input: "Ada", wait: .seconds(10))
        print(outcome.isDone ? "done:" : "not done:", outcome.output?.json ?? "nothing")
        group.cancelAll()
    }
}
