import HeadgateSeeds
import Testing

@testable import HeadgateCommands

@Suite struct ScreenPainterTests {
    @Test("It writes only what is different")
    func differences() {
        var painter = ScreenPainter()
        #expect(painter.text(for: ["a", "b"]) == "\u{1B}[H\u{1B}[J\u{1B}[1;1H\u{1B}[2Ka\u{1B}[2;1H\u{1B}[2Kb")
        #expect(painter.text(for: ["a", "b"]) == "")
        #expect(painter.text(for: ["a", "c"]) == "\u{1B}[2;1H\u{1B}[2Kc")
        #expect(painter.text(for: ["a"]) == "\u{1B}[2;1H\u{1B}[J")
        painter.forget()
        #expect(painter.text(for: ["a"]) == "\u{1B}[H\u{1B}[J\u{1B}[1;1H\u{1B}[2Ka")
    }

    @Test("Whatever was shown, the terminal shows the lines and nothing else", arguments: Seeds.first(30))
    func onATerminal(seed: Seed) {
        var painter = ScreenPainter()
        var terminal = TinyTerminal()
        var random = SeededRandom(seed: seed)
        func dice(_ sides: Int) -> Int { Int.random(in: 0..<sides, using: &random) }
        for _ in 1...50 {
            let lines = (0..<dice(8)).map { _ in
                String(repeating: "abc".randomElement(using: &random) ?? "a", count: dice(5))
            }
            if dice(10) == 0 { painter.forget() }
            terminal.write(painter.text(for: lines))
            #expect(terminal.shown == lines + Array(repeating: "", count: 8 - lines.count))
        }
    }
}

/// A terminal of eight rows that understands what the painter writes, and nothing else.
private struct TinyTerminal {
    private(set) var shown = Array(repeating: "", count: 8)
    private var row = 0

    mutating func write(_ text: String) {
        for part in text.split(separator: "\u{1B}[") {
            guard let end = part.firstIndex(where: \.isLetter) else { continue }
            obey(String(part[...end]))
            shown[row] += part[part.index(after: end)...]
        }
    }

    private mutating func obey(_ command: String) {
        switch command {
        case "H": row = 0
        case "J": for place in row..<8 { shown[place] = "" }
        case "2K": shown[row] = ""
        default: row = min(7, (Int(command.prefix { $0 != ";" }) ?? 1) - 1)
        }
    }
}
