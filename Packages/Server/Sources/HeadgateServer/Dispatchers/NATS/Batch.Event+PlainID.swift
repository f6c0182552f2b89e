import HeadgateCore
import HeadgateData
import HeadgateWire

extension Batch.Event {
    /// The id itself, the same however its JSON string is spelled.
    var plainId: String {
        guard id.hasPrefix("\""), id.hasSuffix("\""), id.utf8.count >= 2 else { return id }
        guard id.utf8.contains(UInt8(ascii: "\\")) else { return String(id.dropFirst().dropLast()) }
        guard case .string(let text) = try? DataItem(parsing: Array(id.utf8)) else { return id }
        return text
    }
}
