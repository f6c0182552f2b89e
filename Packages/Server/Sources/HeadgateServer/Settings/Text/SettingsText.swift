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
        case .notJSON: placed(JSONComplaint(about: text), in: text)
        case .notUTF8: "is not UTF-8"
        case .tooDeep: "is nested deeper than \(maxDepth)"
        case .tooLarge: "is too long"
        }
    }

    /// The complaint with its place as editors count it: lines and characters, both from 1.
    private static func placed(_ complaint: JSONComplaint, in text: [UInt8]) -> String {
        let before = text.prefix(complaint.offset)
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        // The bytes of a character but for the first are 10xxxxxx.
        let column = before[start...].count { $0 & 0xC0 != 0x80 } + 1
        return "line \(line), column \(column): \(complaint.message)" + remark(on: text[complaint.offset...])
    }

    /// Only a comment that never ends is still there.
    private static func remark(on rest: ArraySlice<UInt8>) -> String {
        rest.starts(with: "/*".utf8) ? ", or a comment that ends" : ""
    }
}
