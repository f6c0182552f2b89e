import Foundation
import HeadgateData
import HeadgateWire
import Testing

@testable import HeadgateServer

/// The document that `rpc.discover` gives, held against what is really there.
@Suite struct OpenRPCDocumentTests {
    private let document = DataItem.object(OpenRPCDocument.document)

    @Test("Every method of the table is described, once, and no other")
    func methods() {
        #expect(Set(MethodDescription.all.map(\.name)) == Set(MethodTable.all.map(\.name)))
        #expect(MethodDescription.all.count == MethodTable.all.count)
    }

    @Test("X1: a method is described with the group that the server asks for")
    func groups() {
        let described = document["methods"].elements.filter { $0["x-direction"] == "client-to-server" }
        for method in MethodTable.all {
            let entry = described.first { $0["name"] == .string(method.name) }
            #expect(entry?["x-group"] == .string(method.group.rawValue))
        }
    }

    @Test("Every reason is described, and every reference leads somewhere")
    func references() throws {
        let components = document["components"]
        #expect(
            Set(components["errors"].object.keys) == Set(ErrorReason.allCases.map(\.rawValue)))
        for reference in references(in: document) {
            let path = reference.split(separator: "/").dropFirst().map(String.init)
            #expect(path.count == 3 && document[path[0]][path[1]][path[2]] != .null, "\(reference) leads nowhere")
        }
    }

    @Test("rpc.discover answers with the document, which Docs/openrpc.json is")
    func discovered() async throws {
        try await ServiceStage.run { stage in
            let answer = try await stage.client().call("rpc.discover")
            #expect(answer == document)
            let file = try #require(FileManager.default.contents(atPath: Self.path))
            let isWritten = try DataItem(parsing: Array(file)) == document
            #expect(isWritten, "Tools/openrpc writes it anew")
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
