import Foundation
import HeadgateData

extension ServiceStage {
    /// Flushes, and gives back the lines that a dispatcher of kind `file` has written then.
    nonisolated func lines(of dispatcher: String, after client: LineClient) async throws -> [String] {
        try await client.call("flush", ["wait": true])
        guard let bytes = FileManager.default.contents(atPath: folder("data/\(dispatcher).ndjson")) else { return [] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// The same, read.
    nonisolated func events(of dispatcher: String, after client: LineClient) async throws -> [DataItem] {
        try await lines(of: dispatcher, after: client).map { try DataItem(parsing: Array($0.utf8)) }
    }
}
