import Foundation
import HeadgateData

/// Parses JSON objects for tests that ignore the order of members.
enum DocumentReader {
    static func read(_ bytes: UnsafeRawBufferPointer) -> DataObject? {
        guard case .object(let object)? = (try? JSONSerialization.jsonObject(with: Data(bytes))).map(item) else {
            return nil
        }
        return object
    }

    static func read(_ bytes: some Collection<UInt8>) -> DataObject? {
        Array(bytes).withUnsafeBytes { read($0) }
    }

    private static func item(_ value: Any) -> DataItem {
        switch value {
        case let value as String: .string(value)
        case let value as NSNumber:
            value.objCType.pointee == 99 ? .bool(value.boolValue) : .number(DataNumber(unchecked: "\(value)"))
        case let value as [Any]: .array(value.map(item))
        case let value as [String: Any]:
            .object(DataObject(value.sorted { $0.key < $1.key }.map { ($0.key, item($0.value)) }))
        default: .null
        }
    }
}
