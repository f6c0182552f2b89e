import Foundation
import Testing

@Suite struct VersionTests {
    @Test(
        "Each program prints its version, and its commit if known",
        arguments: ["headgated", "headgate", "headgate-console"])
    func version(program: String) async throws {
        let folder = NSTemporaryDirectory()
        let reported = try await CommandLineTool.run(
            program: BuiltProducts.path(of: program), ["--version"], in: folder
        ).output
        let form = try Regex("\(program) [0-9.]+( \\(([0-9a-f]{40})(-changed)?\\))?\n")
        let match = try #require(reported.wholeMatch(of: form), "\(reported)")
        let isRepository = FileManager.default.fileExists(atPath: Self.root + "/.git/HEAD")
        #expect((match.output[2].substring != nil) == isRepository)
    }

    @Test(
        "Every version written by hand equals that of the programs",
        arguments: [
            ("Tools/parts/package/changelog", "headgate (VERSION)"), ("Docs/Swift.md", "from: \"VERSION\""),
            ("Docs/Examples/SwiftPackage/Package.swift", "from: \"VERSION\""), ("Tools/test-dependent", "\"VERSION\""),
        ])
    func written(path: String, words: String) async throws {
        let reported = try await CommandLineTool.run(
            program: BuiltProducts.path(of: "headgate"), ["--version"], in: NSTemporaryDirectory())
        let version = try #require(reported.output.split(whereSeparator: \.isWhitespace).dropFirst().first)
        let text = try String(contentsOfFile: "\(Self.root)/\(path)", encoding: .utf8)
        #expect(text.contains(words.replacingOccurrences(of: "VERSION", with: version)))
    }

    private static let root = #filePath.split(separator: "/").dropLast(4).map { "/" + $0 }.joined()
}
