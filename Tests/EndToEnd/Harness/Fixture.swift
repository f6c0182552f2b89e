import Foundation

/// Files of `Tests/Fixtures`.
enum Fixture {
    /// The JSON of one of them.
    static func json(_ name: String, from testFile: String = #filePath) throws -> JSON {
        let tests = URL(fileURLWithPath: testFile).pathComponents.reversed().drop { $0 != "EndToEnd" }.dropFirst()
        let path = tests.reversed().joined(separator: "/").dropFirst() + "/Fixtures/" + name
        return try JSON(parsing: String(contentsOfFile: String(path), encoding: .utf8))
    }
}
