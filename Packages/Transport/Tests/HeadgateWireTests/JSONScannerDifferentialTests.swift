import Foundation
import HeadgateData
import HeadgateSeeds
import Testing

@testable import HeadgateWire

/// Thousands of damaged documents on which the scanner and Foundation's parser must agree.
///
/// They have known differences. Foundation accepts a comma after the last element or member, a byte order mark, and
/// UTF-16 or UTF-32; the documents contain only the first. Foundation rejects unpaired surrogates, and numbers that fit
/// none of its number types. These cases are ignored for a text that contains the cause.
@Suite("The scanner against Foundation's parser")
struct JSONScannerDifferentialTests {
    static let documents = [
        #"{"jsonrpc":"2.0","id":7,"method":"track","params":{"event":"signup","data":{"n":[1,2.5,-3e2],"ok":true}}}"#,
        #"[{"a":"\u00e9\n\"x\"","b":null},[[],[{}]],"é😀",0,-0.5,1E+2,false]"#,
        #"  {"k" : [ "v" , { "w" : "\\" } ] }  "#,
        #""a\\\"b""#, "-12.5e-3", "[true,false,null]",
    ]

    @Test("X3: the scanner and Foundation's parser both accept a text, or both refuse it", arguments: Seeds.first(2))
    func agree(seed: Seed) {
        var random = SeededRandom(seed: seed)
        let scanner = JSONScanner(maxDepth: 500)
        var accepted = 0
        for round in 0..<5_000 {
            let text = damaged(&random)
            let ours = accepts(scanner, text)
            let theirs = (try? JSONSerialization.jsonObject(with: Data(text), options: .fragmentsAllowed)) != nil
            accepted += ours ? 1 : 0
            guard ours != theirs, !isKnownDifference(text, ours: ours) else { continue }
            Issue.record("\(seed), round \(round), we \(ours): \(String(decoding: text, as: UTF8.self))")
        }
        #expect(accepted > 250)
    }

    private func accepts(_ scanner: JSONScanner, _ text: [UInt8]) -> Bool {
        (try? GuardedText(text).check(scanner)) != nil
    }

    private func damaged(_ random: inout SeededRandom) -> [UInt8] {
        let alphabet = Array(#"{}[]:,"\/0123456789.eE+-truefalsn ux"#.utf8) + [0x0A, 0x09, 0x01, 0x80, 0xC3, 0xFF]
        var text = Array(Self.documents.randomElement(using: &random)!.utf8)
        for _ in 0..<Int.random(in: 1...3, using: &random) where !text.isEmpty {
            let index = Int.random(in: 0..<text.count, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: text[index] = alphabet.randomElement(using: &random)!
            case 1: text.insert(alphabet.randomElement(using: &random)!, at: index)
            case 2: text.remove(at: index)
            default: text.swapAt(index, Int.random(in: 0..<text.count, using: &random))
            }
        }
        return text
    }

    private func isKnownDifference(_ text: [UInt8], ours: Bool) -> Bool {
        let text = String(decoding: text, as: UTF8.self).lowercased()
        guard ours else { return text.contains(/,[ \t\r\n]*[\]}]/) }
        return text.contains("\\ud") || text.contains(/[0-9]e\+?[0-9]{3}/) || text.contains(/[0-9]{17}/)
    }
}
