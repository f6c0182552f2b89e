import HeadgateData

/// The loads of settings that failed, with the cause and the time, until a load of the same source succeeds (Behaviour
/// S1). After a failed load the settings that were loaded before stay in force.
struct FailedLoads {
    /// A step that loads settings from outside the daemon.
    enum Step: CaseIterable {
        /// Reading the configuration file.
        case file
        /// Getting an answer from the server of the remote layer.
        case fetch
        /// Using the settings that the server sent, or the copy of them at a start.
        case remote
    }

    /// A failed load.
    private struct Failure {
        /// The time of the first failure since the last success.
        let since: Timestamp
        let cause: String
    }

    private var failures: [Step: Failure] = [:]

    /// The most faults that a warning names.
    private static let mostFaults = 3

    /// Records a failed load.
    mutating func failed(_ step: Step, _ cause: String, at time: Timestamp) {
        failures[step] = Failure(since: failures[step]?.since ?? time, cause: cause)
    }

    /// Records settings that were refused.
    mutating func refused(_ step: Step, _ faults: [SettingsFault], at time: Timestamp) {
        let named = faults.prefix(FailedLoads.mostFaults).map(\.description)
        let more = faults.count - named.count
        failed(step, (named + (more > 0 ? ["and \(more) more"] : [])).joined(separator: "; "), at: time)
    }

    /// Records a successful load.
    mutating func succeeded(_ step: Step) {
        failures[step] = nil
    }

    func contains(_ step: Step) -> Bool {
        failures[step] != nil
    }

    /// The warnings for `status`.
    var warnings: [String] {
        Step.allCases.compactMap { step in failures[step].map { FailedLoads.warning(step, $0) } }
    }

    private static func warning(_ step: Step, _ failure: Failure) -> String {
        let (since, cause) = (failure.since.text, failure.cause)
        return switch step {
        case .file:
            "the configuration file is refused since \(since): \(cause); the previous settings stay in force, and a "
                + "start may fail. Fix the file, then `headgate config reload`"
        case .fetch:
            "remote: the settings could not be fetched since \(since): \(cause); the previous ones stay in force"
        case .remote:
            "remote: the settings from the server are refused since \(since): \(cause); the previous ones stay in force"
        }
    }
}
