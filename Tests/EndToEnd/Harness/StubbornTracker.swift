/// A client that tracks events with its own ids, several at a time. If the connection breaks, it sends the
/// unacknowledged events again.
struct StubbornTracker: Sendable {
    struct Outcome: Sendable {
        var acknowledged: [String] = []
        /// The number of acknowledgements that reported a duplicate.
        var duplicates = 0
        var connections = 0
    }

    let name: String
    let count: Int
    let socketPath: String
    private static let window = 16

    /// Runs until every event is acknowledged.
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

    /// Tracks the remaining events until all are acknowledged or the connection breaks.
    private func track(over client: LineClient, _ outcome: inout Outcome) async throws {
        var next = outcome.acknowledged.count
        do {
            while outcome.acknowledged.count < count {
                while next < count, next - outcome.acknowledged.count < Self.window {
                    try await client.send(request(next))
                    next += 1
                }
                // A kill may cut a line; without a line feed it is not a line.
                guard let line = try await client.nextLine() else { return }
                let answer = try JSON(parsing: line)
                guard answer["error"]["data"]["reason"] != "shutting_down" else { return }
                try take(answer, &outcome)
            }
        } catch is SystemError {
            return
        }
    }

    /// Takes an acknowledgement. They arrive in the order of the requests.
    private func take(_ answer: JSON, _ outcome: inout Outcome) throws {
        // The daemon announces an orderly stop.
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
