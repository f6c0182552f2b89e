import Foundation
import Testing

@testable import HeadgateStore

/// Compares `Docs/Store.md` with the module.
@Suite struct StorePageTests {
    private let root = URL(fileURLWithPath: #filePath).appending(path: "../../../../..").standardized
    private let page: String

    init() throws {
        page = try String(contentsOf: root.appending(path: "Docs/Store.md"), encoding: .utf8)
    }

    @Test("Docs/Store.md names each file of the module")
    func files() throws {
        let sources = root.appending(path: "Packages/Server/Sources/HeadgateStore").path
        let names = try FileManager.default.subpathsOfDirectory(atPath: sources)
            .filter { $0.hasSuffix(".swift") }.map { ($0 as NSString).lastPathComponent }
        let missing = names.filter { !page.contains("\($0)`") }
        #expect(missing.isEmpty && !names.isEmpty, "\(missing)")
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `") }
        let named = rows.flatMap { $0.matches(of: /([A-Za-z]+\.swift)`/).map { String($0.output.1) } }
        #expect(Set(named).isSubset(of: names), "\(Set(named).subtracting(names))")
    }

    @Test("Docs/Store.md has a row for each recovery case, in their order")
    func cases() {
        let labels = page.split(separator: "\n").compactMap { line in
            line.wholeMatch(of: /\| ([A-Z]) \|.*/)?.output.1.first
        }
        #expect(labels == RecoveryCase.all.map(\.label))
    }
}
