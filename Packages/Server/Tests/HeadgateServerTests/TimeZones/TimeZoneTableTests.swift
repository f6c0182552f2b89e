import HeadgateData
import HeadgateSeeds
import Testing

@testable import HeadgateServer

@Suite("Time zones")
struct TimeZoneTableTests {
    @Test("B24: a file's transitions apply until the last one, and its footer after it")
    func transitionsAndFooter() throws {
        let rules = try TimeZoneTable(
            tzif: TZifBytes.slim(first: 3208, [(-1000, 3600), (1000, 7200)], footer: "CET-1CEST,M3.5.0,M10.5.0/3"))
        #expect([-5000, -1001, -1000, 999].map(rules.offset) == [3208, 3208, 3600, 3600])
        #expect(rules.offset(at: 1000) == 3600, "the footer: the beginning of 1970 is in winter")
        #expect(rules.offset(at: 1_782_900_000) == 7200, "July 2026")
    }

    @Test("B24: without a footer the last offset stays; a file may have no transition at all")
    func withoutFooter() throws {
        let rules = try TimeZoneTable(tzif: TZifBytes.slim(first: -3600, [(1000, 7200)]))
        #expect([0, 999, 1000, 4_000_000_000].map(rules.offset) == [-3600, -3600, 7200, 7200])
        let constant = try TimeZoneTable(tzif: TZifBytes.slim(footer: "<-03>3"))
        #expect(constant.offset(at: 0) == -10_800)
    }

    @Test("B24: the first version of the format has transition times of 32 bits")
    func oldVersion() throws {
        let rules = try TimeZoneTable(tzif: TZifBytes.old(first: 0, [(-1000, 60), (2_000_000_000, -60)]))
        #expect([-1001, -1000, 1_999_999_999, 2_000_000_000].map(rules.offset) == [0, 60, 60, -60])
    }

    @Test("B24: a truncated file, or one that is not a TZif file, is an error")
    func cutOff() {
        let file = TZifBytes.slim(first: 3600, [(-1000, 3600), (1000, 7200)], footer: "CET-1CEST,M3.5.0,M10.5.0/3")
        for count in 0..<file.count {
            #expect(throws: TimeZoneFault.self) { try TimeZoneTable(tzif: Array(file.prefix(count))) }
        }
        #expect(throws: TimeZoneFault.notTZif) { try TimeZoneTable(tzif: Array("Europe/Berlin, honestly".utf8)) }
    }

    @Test("B24: whatever the bytes, reading a file ends with rules or an error", arguments: Seeds.first(1))
    func garbage(seed: Seed) {
        let file = TZifBytes.slim(first: 3600, [(-1000, 3600), (1000, 7200)], footer: "CET-1CEST,M3.5.0,M10.5.0/3")
        var chance = SeededRandom(seed: seed)
        for index in file.indices {
            for value: UInt8 in [0, 1, 0x7F, 0x80, 0xFF, UInt8.random(in: 0...255, using: &chance)] {
                var bytes = file
                bytes[index] = value
                guard let rules = try? TimeZoneTable(tzif: bytes) else { continue }
                let offsets = [Int64.min / 1000, -1, 0, 1_782_900_000, Int64.max / 1000].map(rules.offset)
                #expect(offsets.allSatisfy { abs($0) <= 26 * 3600 })
            }
        }
    }

    @Test("B24: a file whose parts do not fit together is an error")
    func malformed() {
        let unordered = TZifBytes.slim([(1000, 60), (1000, 120)])
        #expect(throws: TimeZoneFault.malformed("order")) { try TimeZoneTable(tzif: unordered) }
        let badFooter = TZifBytes.slim([(1000, 60)], footer: "CET-1CEST,M13.5.0,M10.5.0/3")
        #expect(throws: TimeZoneFault.malformed("the footer")) { try TimeZoneTable(tzif: badFooter) }
        let far = TZifBytes.slim([(1000, 100_000)])
        #expect(throws: TimeZoneFault.malformed("an offset over a day")) { try TimeZoneTable(tzif: far) }
    }
}
