import HeadgateData
import Testing

@testable import HeadgateServer

/// Tests the table of a section's keys, by which settings are read and shown.
@Suite struct SettingsTableTests {
    private enum Word: String, CaseIterable {
        case one, two
    }

    private struct Section: SettingsSection, Equatable {
        var count = 7
        var wait = Duration.seconds(2)
        var word = Word.one
        var name = false
        var limit: Int?

        static let table = SettingsTable<Section>([
            .key("count", .integer(0...9), \.count), .key("wait_ms", .milliseconds(), \.wait),
            .key("word", .word, \.word), .required("name", .bool, \.name),
            .optional("limit", .integer(1...3), \.limit),
        ])
    }

    private struct Whole: SettingsSection, Equatable {
        var section = Section()
        var other = Section()

        static let table = SettingsTable<Whole>(
            [.section("inner", \.section)] + Section.table.keys.map { $0.within(\.other) })
    }

    @Test("A nested section is read from a member, or its keys are read from the outer section")
    func parts() {
        let whole = Whole(section: Section(name: true), other: Section(count: 3, name: true))
        #expect(whole.object["inner"] == .object(whole.section.object))
        #expect(whole.object["count"] == 3)
        let reader = SettingsReader(whole.object)
        var again = Whole()
        again.read(reader)
        reader.finish()
        #expect(again == whole)
        #expect(reader.findings == SettingsFindings())
        let wrong = SettingsReader(["inner": ["name": true, "count": 10], "name": true, "counts": 1])
        again.read(wrong)
        wrong.finish()
        #expect(wrong.findings.faults.map(\.path) == ["inner.count"])
        #expect(wrong.findings.unknownKeys.map(\.path) == ["counts"])
    }

    private func read(_ object: DataObject) -> (section: Section, faults: [String]) {
        let reader = SettingsReader(object)
        var section = Section()
        section.read(reader)
        reader.finish()
        return (section, (reader.findings.faults + reader.findings.unknownKeys).map(\.description))
    }

    @Test("Settings are shown in the table's order, and reading them again gives the same values")
    func roundTrip() {
        let section = Section(count: 0, wait: .milliseconds(5), word: .two, name: true, limit: 3)
        let shown = section.object
        #expect(shown.keys == ["count", "wait_ms", "word", "name", "limit"])
        #expect(shown == ["count": 0, "wait_ms": 5, "word": "two", "name": true, "limit": 3])
        #expect(read(shown).section == section)
        #expect(read(shown).faults.isEmpty)
    }

    @Test("An absent key has its default and is shown with it; an absent optional key is not shown")
    func absent() {
        let (section, faults) = read(["name": true])
        #expect(section == Section(name: true))
        #expect(faults.isEmpty)
        #expect(section.object == ["count": 7, "wait_ms": 2000, "word": "one", "name": true])
    }

    @Test("S2: wrong values, a missing required key and unknown keys are faults")
    func faults() {
        let (section, faults) = read(["count": 10, "wait_ms": 0, "word": "three", "limit": "x", "limits": 1])
        #expect(section == Section())
        #expect(
            faults == [
                "count: must be a whole number from 0 to 9",
                "wait_ms: must be a whole number from 1 to 315360000000", "word: must be one of: one, two",
                "name: is required", "limit: must be a whole number from 1 to 3",
                "limits: unknown key; the closest known key is `limit`",
            ])
    }
}
