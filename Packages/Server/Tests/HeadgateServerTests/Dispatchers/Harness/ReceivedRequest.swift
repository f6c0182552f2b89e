import Foundation

/// A request as a server got it.
struct ReceivedRequest: Sendable {
    var method: String
    var target: String
    /// By lower-case name.
    var headers: [String: String]
    var body: [UInt8]
    /// Counts the server's connections from 0.
    var connection: Int

    var text: String {
        String(decoding: body, as: UTF8.self)
    }

    /// What stands before the body; nil while it is not complete.
    init?(head bytes: [UInt8], connection: Int) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        guard let end = text.range(of: "\r\n\r\n") else { return nil }
        var lines = text[..<end.lowerBound].components(separatedBy: "\r\n")
        let parts = lines.removeFirst().split(separator: " ")
        guard parts.count == 3 else { return nil }
        method = String(parts[0])
        target = String(parts[1])
        headers = [:]
        body = []
        self.connection = connection
        for line in lines {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            headers[line[..<colon].lowercased()] = value
        }
    }
}
