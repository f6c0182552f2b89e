extension Duration {
    /// How long a test waits for what must happen. It only matters when the test fails: a loaded machine is slow.
    static let patience = Duration.seconds(240)
}

/// What a test waited for in vain.
struct NeverHappened: Error, CustomStringConvertible {
    let what: String
    let description: String

    init(_ what: String, details: String = "") {
        self.what = what
        description = "never happened: \(what)" + (details.isEmpty ? "" : "; \(details)")
    }
}

/// Looks that are taken at least, however late they come: on a busy machine a single one may take longer than the limit.
private let leastLooks = 20

/// Waits until the probe finds something, and gives it back. It looks often at first, and then less so: what takes long needs
/// the processor more than it needs to be looked at.
func eventually<Found>(
    _ what: String, within limit: Duration = .patience, probe: () async throws -> Found?
) async throws -> Found {
    let deadline = ContinuousClock.now + limit
    var pause = Duration.milliseconds(2)
    var looks = 0
    while true {
        if let found = try await probe() { return found }
        looks += 1
        guard looks < leastLooks || ContinuousClock.now < deadline else { throw NeverHappened(what) }
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
