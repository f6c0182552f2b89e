/// A client that tracks its events under ids of its own, some at once, and sends again what was not acknowledged
/// whenever its connection breaks.
struct StubbornTracker: Sendable {
    struct Outcome: Sendable {
        var acknowledged: [String] = []
        /// How many acknowledgements said `duplicate`.
        var duplicates = 0
        var connections = 0
    }

    let name: String
    let count: Int
    let socketPath: String
    private static let window = 16

    /// Goes on until everything is acknowledged.
    func run() async throws -> Outcome {
        var outcome = Outcome()
        while outcome.acknowledged.count < count {
            let client: LineClient = try await eventually("a connection for \(name)") {
                try? await LineClient(socketPath)
            }
            outcome.connections += 1
            try await track(over: client, &outcome)
            client.close()
        }
        return outcome
    }

    /// Tracks what is left until all of it is acknowledged or the connection breaks.
    private func track(over client: LineClient, _ outcome: inout Outcome) async throws {
        var next = outcome.acknowledged.count
        do {
            while outcome.acknowledged.count < count {
                while next < count, next - outcome.acknowledged.count < Self.window {
                    try await client.send(request(next))
                    next += 1
                }
                // A kill may leave half a line: no line feed, no line.
                guard let line = try await client.nextLine() else { return }
                let answer = try JSON(parsing: line)
                guard answer["error"]["data"]["reason"] != "shutting_down" else { return }
                try take(answer, &outcome)
            }
        } catch is SystemError {
            return
        }
    }

    /// Acknowledgements come in the order of the requests.
    private func take(_ answer: JSON, _ outcome: inout Outcome) throws {
        // An orderly stop is announced.
        guard answer["method"] != "closing" else { return }
        let expected = id(outcome.acknowledged.count)
        guard answer["result"]["id"].string == expected else {
            throw NeverHappened("the acknowledgement of \(expected)", details: "\(answer)")
        }
        outcome.acknowledged.append(expected)
        if answer["result"]["duplicate"] == true { outcome.duplicates += 1 }
    }

    private func id(_ number: Int) -> String { "\(name)-\(number)" }

    private func request(_ number: Int) -> String {
        let id = id(number)
        return
            #"{"jsonrpc":"2.0","id":\#(number),"method":"track","params":{"event":"\#(name)","id":"\#(id)","data":{"n":\#(number)}}}"#
    }
}
