import Foundation
import HeadgateData

/// The OpenRPC document of the protocol, `Docs/openrpc.json`.
enum ProtocolDocument {
    static let object: DataObject = {
        let root = URL(fileURLWithPath: #filePath).pathComponents.dropLast(6).joined(separator: "/").dropFirst()
        let text = FileManager.default.contents(atPath: root + "/Docs/openrpc.json") ?? Data()
        return (try? DataItem(parsing: Array(text))).flatMap { DataObject(dataItem: $0) } ?? [:]
    }()

    /// The methods' entries.
    static let methods = object.get(key: "methods", as: [DataObject].self) ?? []

    /// Returns the schema of a method's result, or nil if there is no such method.
    static func result(of method: String) -> DataObject? {
        methods.first { $0.get(key: "name") == method }?.get(key: "result", as: DataObject.self)?.get(key: "schema")
    }

    /// Returns the schema to which a reference leads; any other schema is returned as it is.
    static func resolved(_ schema: DataObject) -> DataObject {
        guard let name = schema.get(key: "$ref", as: String.self)?.split(separator: "/").last else { return schema }
        let schemas = object.get(key: "components", as: DataObject.self)?.get(key: "schemas", as: DataObject.self)
        return schemas?.get(key: String(name)) ?? [:]
    }
}
