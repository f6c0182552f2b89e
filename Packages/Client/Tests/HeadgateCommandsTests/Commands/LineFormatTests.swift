import HeadgateClient
import HeadgateData
import HeadgateSeeds
import HeadgateWire
import Testing

@testable import HeadgateCommands

@Suite("Lines that are not JSON") struct LineFormatTests {
    @Test(
        "The pairs of a logfmt line are data; numbers keep their digits",
        arguments: [
            ("level=info msg=hello n=1.50", #"{"level":"INFO","message":"hello","n":1.50}"#),
            ("  a=1\tb=x  ", #"{"a":1,"b":"x"}"#),
            (#"a="x = \"y\" é\n" b="#, #"{"a":"x = \"y\" é\n","b":""}"#),
            ("cached a=true b=null c=1e400", #"{"cached":true,"a":true,"b":null,"c":1e400}"#),
            ("a=007 b=-x c=truer d=0x1f e=1.2.3", #"{"a":"007","b":"-x","c":"truer","d":"0x1f","e":"1.2.3"}"#),
            (#"a="\x41\d" b=c"d"#, #"{"a":"x41d","b":"c\"d"}"#),
            ("a=1 a=2", #"{"a":2}"#),
            ("lvl=WARN severity=odd", #"{"level":"odd"}"#),
            ("message=a msg=b", #"{"message":"a","msg":"b"}"#),
            ("time=noon a=1\r", #"{"time":"noon","a":1}"#),
        ])
    func pairs(line: String, data: String) throws {
        #expect(DataItem.object(try LogfmtLine(Array(line.utf8)).data).json == data)
    }

    @Test("The time of a logfmt line is the event's", arguments: ["time", "ts", "timestamp"])
    func time(name: String) throws {
        let line = try LogfmtLine(Array("\(name)=2026-03-01T10:00:00.5+01:00 a=1".utf8))
        #expect(line.time?.text == "2026-03-01T09:00:00.500Z" && line.data == ["a": 1])
    }

    @Test(
        "A line that is not logfmt is refused with the reason",
        arguments: [
            ("hello world", LogfmtLine.Fault.noPair), ("=x", .noName(1)), (#"a=1 "b""#, .noName(5)),
            (#"a="open"#, .openQuotes("a")), (#"a="open\""#, .openQuotes("a")), (" ", .noPair),
        ])
    func notLogfmt(line: String, fault: LogfmtLine.Fault) {
        #expect(throws: fault) { try LogfmtLine(Array(line.utf8)) }
    }

    @Test("Any bytes are a line of text; those that are not UTF-8 are replaced", arguments: Seeds.first(2))
    func text(seed: Seed) throws {
        let scanner = JSONScanner()
        let format = LineFormat(syntax: .text, event: "line")
        #expect(format.canRead([0xFF, 0x00, 0x22], scanner: scanner))
        var random = SeededRandom(seed: seed)
        for length in 0..<200 {
            let bytes = (0..<length).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            #expect(format.canRead(bytes, scanner: scanner), "\(bytes)")
        }
    }

    @Test("Random bytes are an event of logfmt or refused, and never end the program", arguments: Seeds.first(2))
    func anyBytes(seed: Seed) {
        var random = SeededRandom(seed: seed)
        let alphabet = Array("ab=\"\\ \t0-.é".utf8) + [0xFF]
        let scanner = JSONScanner()
        for length in 0..<1_000 {
            let line = (0..<length % 40).map { _ in alphabet.randomElement(using: &random) ?? 0 }
            let isLogfmt = (try? LogfmtLine(line)) != nil
            #expect(LineFormat(syntax: .logfmt).canRead(line, scanner: scanner) == isLogfmt, "\(line)")
        }
    }
}
