import HeadgateData
import HeadgateWire

/// The text of a configuration: a JSON object, with comments.
public enum SettingsText {
    /// How deep a configuration's arrays and objects may be nested.
    static let maxDepth = 64

    /// Reads the text; throws a fault that says where it is wrong.
    public static func parse(_ text: [UInt8]) throws(SettingsFault) -> DataObject {
        let plain = CommentStripper.strip(text)
        do throws(JSONFault) {
            let item = try DataItem(parsing: plain, maxDepth: maxDepth)
            if let object = DataObject(dataItem: item) { return object }
        } catch {
            throw SettingsFault(path: "", message: complaint(about: plain, error))
        }
        throw SettingsFault(path: "", message: "must be an object: { … }")
    }

    private static func complaint(about text: [UInt8], _ fault: JSONFault) -> String {
        switch fault {
        case .notJSON: JSONComplaint.first(in: text)?.placed(in: text) ?? "is not JSON"
        case .notUTF8: "is not UTF-8"
        case .tooDeep: "is nested deeper than \(maxDepth)"
        case .tooLarge: "is too long"
        }
    }
}
