import Foundation
import Testing

@Suite struct VersionTests {
    @Test(
        "Each program tells its version, and the commit that it is built from where there is one",
        arguments: ["headgated", "headgate", "headgate-console"])
    func version(program: String) async throws {
        let folder = NSTemporaryDirectory()
        let told = try await CommandLineTool.run(
            program: BuiltProducts.path(of: program), ["--version"], in: folder
        ).output
        let form = try Regex("\(program) [0-9.]+( \\(([0-9a-f]{40})(-changed)?\\))?\n")
        let match = try #require(told.wholeMatch(of: form), "\(told)")
        let root = #filePath.split(separator: "/").dropLast(4).map { "/" + $0 }.joined()
        let isRepository = FileManager.default.fileExists(atPath: root + "/.git/HEAD")
        #expect((match.output[2].substring != nil) == isRepository)
    }
}
