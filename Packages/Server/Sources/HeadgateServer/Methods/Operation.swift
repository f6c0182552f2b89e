import HeadgateData
import HeadgateWire

/// A call of a method that changes the service, as the log records it (Behaviour X7).
struct Operation {
    /// The calls by method, for metrics.
    struct Counts {
        /// The calls that changed something, or may have.
        private(set) var done: [String: Int] = [:]
        /// The calls that were refused because the caller lacks the right.
        private(set) var refused: [String: Int] = [:]

        mutating func countDone(_ method: String) { done[method, default: 0] += 1 }
        mutating func countRefused(_ method: String) { refused[method, default: 0] += 1 }
    }

    /// The outcome of a call.
    enum Outcome {
        case done
        case failed(RPCError)
        /// The client disconnected before the end. The work may continue.
        case disconnected
    }

    let method: String
    /// The dispatcher, barrier or other object, or the names of the changed settings. Values are never included.
    let object: String
    /// The reason that the caller gave, or nil.
    let reason: String?
    /// True if the call only counts, and changes nothing.
    let isDryRun: Bool

    /// Returns the operation of a call, or nil if its method changes nothing that the log records.
    init?(_ method: Method, _ params: JSONView?) {
        guard method.group == .control || method.group == .configure else { return nil }
        self.method = method.name.description
        reason = Operation.text(params?.member("reason"))
        object = Operation.object(of: params)
        // A method without this param ignores it, and still changes something.
        isDryRun = method.params.contains { $0.name == "dry_run" } && params?.member("dry_run")?.bool == true
    }

    private static func object(of params: JSONView?) -> String {
        if let patch = params?.member("patch") { return settings(in: patch) }
        let names = keys.compactMap { key in text(params?.member(key)) }
        return names.isEmpty ? "all" : names.joined(separator: " ")
    }

    /// Returns the text of a param, or nil if it is longer than any that a method accepts. The call is not validated yet,
    /// and a client may send a megabyte (Behaviour X3).
    private static func text(_ view: JSONView?) -> String? {
        guard let view, view.raw.count <= longest else { return nil }
        return view.string
    }

    /// The most bytes of a text, with quotes and escapes.
    private static let longest = 6 * Limits.longestReason + 2

    /// The params that name the object of an operation.
    private static let keys: [StaticString] = ["id", "dispatcher", "flush"]

    /// Returns the names of the settings in a patch, without their values.
    private static func settings(in patch: JSONView) -> String {
        guard let patch = try? Shape<DataObject>.object.read(patch) else { return "settings" }
        let paths = patch.leafPaths
        let shown = paths.prefix(mostSettings).joined(separator: ", ")
        return paths.count > mostSettings ? "\(shown) and \(paths.count - mostSettings) more" : shown
    }

    /// The most names of settings in one line of the log.
    private static let mostSettings = 32

    /// The members of the operation's line in the log.
    func members(_ caller: Caller, session: String, _ outcome: Outcome) -> DataObject {
        [
            "method": .string(method), "object": .string(object), "client": .string(caller.client ?? session),
            "uid": .number(DataNumber(Int(caller.credentials.uid))),
            "pid": .number(DataNumber(Int(caller.credentials.pid))),
            "outcome": .string(isDryRun ? "dry run" : outcome.text),
            "reason": reason.map { .string($0) } ?? .null,
        ]
    }
}

extension Operation.Outcome {
    /// A Boolean value that says whether the call may have changed something. Most refused calls have not. A call that
    /// failed at the store or was interrupted may have.
    var mayHaveChanged: Bool {
        guard case .failed(let error) = self else { return true }
        switch error.reason {
        case .storage, .queueFull, .cancelled: return true
        default: return false
        }
    }

    fileprivate var text: String {
        switch self {
        case .done: "done"
        case .failed(let error): "done in part: \(error.message)"
        case .disconnected: "continues; the client has disconnected"
        }
    }
}
