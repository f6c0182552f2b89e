import Foundation
import HeadgateData
import HeadgateWire
import Testing

@testable import HeadgateServer

/// Compares the OpenRPC document that `rpc.discover` returns with the declared methods.
@Suite struct OpenRPCDocumentTests {
    private let document = DataItem.object(OpenRPCDocument.document)

    @Test("The document describes each method and each message of the server once; names of schemas are unique")
    func methods() {
        let messages = MethodTable.messages
        let names = MethodTable.all.map(\.name.description) + messages.map(\.name.description)
        #expect(document["methods"].elements.map { $0["name"] } == names.map { .string($0) })
        #expect(Set(names).count == names.count)
        let params = MethodTable.all.flatMap(\.params) + messages.flatMap(\.params)
        let results = MethodTable.all.map(\.result) + messages.compactMap(\.result)
        for schema in params.map(\.schema) + results {
            for (name, schema) in schema.named {
                #expect(document["components"]["schemas"][name] == schema.item, "two schemas have the name \(name)")
            }
        }
    }

    @Test("The document describes each error reason, and all its references resolve")
    func references() throws {
        let components = document["components"]
        #expect(
            Set(components["errors"].object.keys) == Set(ErrorReason.allCases.map(\.rawValue)))
        for reference in references(in: document) {
            let path = reference.split(separator: "/").dropFirst().map(String.init)
            #expect(path.count == 3 && document[path[0]][path[1]][path[2]] != .null, "\(reference) does not resolve")
        }
    }

    @Test("rpc.discover returns the document, and Docs/openrpc.json is the same")
    func discovered() async throws {
        try await ServiceStage.run { stage in
            let answer = try await stage.client().call("rpc.discover")
            #expect(answer == document)
            let file = try #require(FileManager.default.contents(atPath: Self.path))
            let isWritten = try DataItem(parsing: Array(file)) == document
            #expect(isWritten, "Docs/openrpc.json is out of date; Tools/protocol writes it")
        }
    }

    private static let path = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../../../Docs/openrpc.json").standardized.path

    private func references(in item: DataItem) -> [String] {
        switch item {
        case .object(let object):
            object.flatMap { key, value -> [String] in
                if key == "$ref", case .string(let reference) = value { return [reference] }
                return references(in: value)
            }
        case .array(let items): items.flatMap(references)
        default: []
        }
    }
}

extension DataItem {
    fileprivate var object: DataObject {
        if case .object(let object) = self { object } else { [:] }
    }
}
