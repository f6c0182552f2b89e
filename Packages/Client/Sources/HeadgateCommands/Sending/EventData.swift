import HeadgateData
import HeadgateWire

/// The data of an event as it is given on the command line.
enum EventData {
    /// Reads `key=value` pairs. Of several with one key the last counts.
    static func parse(_ pairs: some Sequence<String>) throws(UsageError) -> DataObject {
        var data = DataObject()
        for pair in pairs {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw UsageError(message: "send: \(pair) is not KEY=VALUE", command: "send")
            }
            data[parts[0]] = value(parts[1])
        }
        return data
    }

    /// What is JSON is taken as that, with all its digits (Behaviour P6); the rest is text.
    private static func value(_ text: String) -> DataItem {
        do throws(JSONFault) {
            return try DataItem(parsing: Array(text.utf8))
        } catch {
            return .string(text)
        }
    }
}
