import HeadgateWire

extension ParameterReader {
    /// A duration in milliseconds that a client may give; nil when there is none. Longer than
    /// ``Limits/longestDuration`` is none (Behaviour X2).
    /// - Parameter least: what it has to be at least.
    func optionalDuration(_ name: StaticString, atLeast least: Duration = .zero) throws(RPCError) -> Duration? {
        guard let duration = try optional(name, as: Milliseconds.self)?.duration else { return nil }
        guard duration >= least else {
            throw fault(name, "must be at least \(least.wholeMilliseconds) milliseconds")
        }
        guard duration <= Limits.longestDuration else {
            throw fault(
                name, "must be at most \(Limits.longestDuration.wholeMilliseconds) milliseconds, which is a day")
        }
        return duration
    }
}

/// A whole number of milliseconds.
private struct Milliseconds: ParameterValue {
    let duration: Duration

    static var expectation: String { "must be a whole number of milliseconds" }

    init?(parameter: JSONView) {
        guard let number = parameter.int else { return nil }
        duration = .milliseconds(number)
    }
}
