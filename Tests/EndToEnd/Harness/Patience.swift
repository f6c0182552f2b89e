extension Duration {
    /// The time limit for expected results. It matters only if the test fails, so it allows for a loaded machine.
    static let patience = Duration.seconds(240)
}

/// An expected result that did not happen in time.
struct NeverHappened: Error, CustomStringConvertible {
    let what: String
    let description: String

    init(_ what: String, details: String = "") {
        self.what = what
        description = "never happened: \(what)" + (details.isEmpty ? "" : "; \(details)")
    }
}

/// The minimum number of probes. On a busy machine a single probe may take longer than the limit.
private let leastChecks = 20

/// Waits until the probe returns a value, and returns that value. It probes often at first and then less often, to
/// leave the processor to the code under test.
func eventually<Found>(
    _ what: String, within limit: Duration = .patience, probe: () async throws -> Found?
) async throws -> Found {
    let deadline = ContinuousClock.now + limit
    var pause = Duration.milliseconds(2)
    var checks = 0
    while true {
        if let found = try await probe() { return found }
        checks += 1
        guard checks < leastChecks || ContinuousClock.now < deadline else { throw NeverHappened(what) }
        try await Task.sleep(for: pause)
        pause = min(pause * 3 / 2, .milliseconds(25))
    }
}

/// Waits until the condition holds.
func eventually(
    _ what: String, within limit: Duration = .patience, condition: () async throws -> Bool
) async throws {
    let _: Bool = try await eventually(what, within: limit) { try await condition() ? true : nil }
}
