import Foundation
import HeadgateClient
import HeadgateCore
import HeadgateData
import HeadgateServer
import HeadgateTransport
import HeadgateWire
import Testing

/// Tests a program that imports every module, as a program does that embeds a server and is a client of another.
@Suite("Names of all modules together")
struct NamesTests {
    @Test("A program that imports all modules can use their names unqualified")
    func unqualified() {
        // Each of these names was ambiguous once, or could easily become ambiguous.
        let types: [Any.Type] = [
            ApplicationStatus.self, BarrierSummary.self, DispatcherSummary.self, FlushAnswer.self, QueuePage.self,
            RemoteBarrier.self, TrackedEvent.self, ListedBarrier.self, ListedDispatcher.self, FinishedFlush.self,
            PeekedEvents.self, RegisteredBarrier.self, OutgoingEvent.self, BoardActivation.self, ActivationBarrier.self,
            BoardBarrier.self, BoardOutcome.self, ActivationOutcome.self, BoardTask.self, ProgramBoards.self,
            Watch.self,
            Connection.self, ClientConnection.self, Server.self, HeadgateClient.self, Headgate.self, RPCError.self,
        ]
        #expect(Set(types.map { String(reflecting: $0) }).count == types.count)
        let event = OutgoingEvent("sale", data: ["n": 1])
        let barrier = BarrierRegistration("consent", .closed)
        #expect(event.event == "sale" && barrier.state == .closed && ApplicationStatus.allCases.count == 3)
    }

    @Test("No public name is in two modules, and no member is added to a type by two")
    func collisions() throws {
        var owners: [String: Set<String>] = [:]
        for (module, files) in try Modules.sources() {
            for name in files.flatMap(PublicNames.all) { owners[name, default: []].insert(module) }
        }
        #expect(owners.count > 200)
        let collisions = owners.filter { $0.value.count > 1 }
        #expect(collisions.isEmpty, "\(collisions)")
    }

    @Test(
        "The search for names finds the expected names",
        arguments: [
            ("public struct A: Sendable {\n    public let b: Int\n}", ["A"]),
            (
                "@frozen public indirect enum `B` {}\npublic protocol C: D {}\npublic func e(_ f: Int) {}",
                ["B", "C", "e"]
            ),
            ("struct A {}\n    public struct B {}\nfinal class C {}", []),
            ("public final class A<B> {}\npublic actor C {}\npublic typealias D = E", ["A", "C", "D"]),
            ("extension Duration {\n    public var ms: Int { 1 }\n    var s: Int { 1 }\n}", ["Duration.ms"]),
            (
                "extension A {\n    public static func b(_ c: Int, d: Int) -> Int {\n        1\n    }\n}",
                ["A.b(_ c: Int, d: Int)"]
            ),
        ])
    func search(source: String, names: [String]) {
        #expect(PublicNames.all(in: source) == names)
    }
}

/// The modules of this repository that programs may import.
private enum Modules {
    /// Returns the source files of each module.
    static func sources(from testFile: String = #filePath) throws -> [(module: String, files: [String])] {
        let root = URL(fileURLWithPath: testFile).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Packages")
        let files = FileManager.default
        var modules: [(String, [String])] = []
        for package in try files.contentsOfDirectory(atPath: root.path) {
            let folder = root.appendingPathComponent(package).appendingPathComponent("Sources")
            for module in try files.contentsOfDirectory(atPath: folder.path) where module.hasPrefix("Headgate") {
                let directory = folder.appendingPathComponent(module)
                let names = files.enumerator(atPath: directory.path)?.compactMap { $0 as? String } ?? []
                modules.append(
                    (
                        module,
                        try names.filter { $0.hasSuffix(".swift") }.map {
                            try String(contentsOf: directory.appendingPathComponent($0), encoding: .utf8)
                        }
                    ))
            }
        }
        return modules
    }
}

/// The public names of a source file: its top-level declarations, and members that it adds to types of other modules.
///
/// It relies on the layout of `swift format`: only top-level declarations begin in the first column.
private enum PublicNames {
    static func all(in source: String) -> [String] {
        // A regular expression is compiled when it is created, so it is created once per source file.
        let (top, extending, member) = (top, extending, member)
        var extended: String?
        var names: [String] = []
        for line in source.split(separator: "\n") where isOfInterest(line, inExtension: extended != nil) {
            if let found = line.prefixMatch(of: top) {
                names.append(String(found.1))
            } else if let found = line.prefixMatch(of: extending) {
                extended = String(found.1)
            } else if let type = extended, let found = line.prefixMatch(of: member) {
                names.append("\(type).\(name(of: found.1))")
            } else if line.first != " ", line.first != "}" {
                extended = nil
            }
        }
        return names
    }

    /// A fast check that excludes most lines.
    private static func isOfInterest(_ line: Substring, inExtension: Bool) -> Bool {
        if line.utf8.first != UInt8(ascii: " ") { return true }
        return inExtension && line.utf8.starts(with: "    public ".utf8)
    }

    /// Returns the name of a member: a function with its parameters, which distinguish it; any other member without its
    /// type.
    private static func name(of member: Substring) -> String {
        let name = member.contains("(") ? member : member.prefix { $0 != ":" }
        return name.trimmingCharacters(in: .whitespaces)
    }

    private static var top: Regex<(Substring, Substring)> {
        #/(?:@\w+(?:\([^)]*\))? )*public (?:final |indirect |nonisolated )*(?:struct|class|enum|actor|protocol|typealias|func|let|var) `?(\w+)/#
    }

    private static var extending: Regex<(Substring, Substring)> { #/extension ([\w.]+)/# }

    private static var member: Regex<(Substring, Substring)> {
        #/    public (?:static |mutating |convenience )*(?:func|var|let|init|typealias|struct|enum|class) ?((?:[^{=\-]|-(?!>))+)/#
    }
}
