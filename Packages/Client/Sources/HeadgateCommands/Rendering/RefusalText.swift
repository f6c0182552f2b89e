import HeadgateData
import HeadgateWire

/// Says why the daemon refused.
enum RefusalText {
    /// The message; of refused settings every fault with its place, a line each (Behaviour S2).
    static func text(_ error: RPCError) -> String {
        let faults: [DataObject] = error.data.get(key: "faults") ?? []
        guard error.reason == .invalidSettings, !faults.isEmpty else { return error.message }
        let lines = faults.map { fault in
            let path: String = fault.get(key: "path") ?? ""
            let message: String = fault.get(key: "message") ?? ""
            return path.isEmpty ? message : "\(path): \(message)"
        }
        return (["these settings are refused, nothing has changed"] + lines).joined(separator: "\n")
    }
}
