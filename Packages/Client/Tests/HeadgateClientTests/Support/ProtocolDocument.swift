import Foundation
import HeadgateData

/// The OpenRPC document of the protocol, `Docs/openrpc.json`.
enum ProtocolDocument {
    static let object: DataObject = {
        let text = Array(file("Docs/openrpc.json").utf8)
        return (try? DataItem(parsing: text)).flatMap { DataObject(dataItem: $0) } ?? [:]
    }()

    /// Returns the text of a file of the repository, or an empty text if the file does not exist.
    static func file(_ path: String) -> String {
        let root = URL(fileURLWithPath: #filePath).pathComponents.dropLast(6).joined(separator: "/").dropFirst()
        return String(decoding: FileManager.default.contents(atPath: "\(root)/\(path)") ?? Data(), as: UTF8.self)
    }

    /// The methods' entries.
    static let methods = object.get(key: "methods", as: [DataObject].self) ?? []

    /// Returns the schema of a method's result, or nil if there is no such method.
    static func result(of method: String) -> DataObject? {
        methods.first { $0.get(key: "name") == method }?.get(key: "result", as: DataObject.self)?.get(key: "schema")
    }

    /// Returns the schema of a method's params as one object, or nil if there is no such method.
    static func params(of method: String) -> DataObject? {
        let params = methods.first { $0.get(key: "name") == method }?.get(key: "params", as: [DataObject].self)
        guard let params else { return nil }
        return ["properties": .object(DataObject(params.map { ($0.get(key: "name") ?? "", $0["schema"] ?? [:]) }))]
    }

    /// Returns the schema to which a reference leads; any other schema is returned as it is.
    static func resolved(_ schema: DataObject) -> DataObject {
        guard let name = schema.get(key: "$ref", as: String.self)?.split(separator: "/").last else { return schema }
        let schemas = object.get(key: "components", as: DataObject.self)?.get(key: "schemas", as: DataObject.self)
        return schemas?.get(key: String(name)) ?? [:]
    }
}
