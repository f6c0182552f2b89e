/// Where a text stops being JSON, and what was expected there: the parser only says that it is none.
///
/// Used on texts that were refused already, and linear in their length whatever their nesting.
struct JSONComplaint: Error, Equatable {
    /// Bytes before the place.
    let offset: Int
    /// What is wrong there, for people.
    let message: String

    /// The first thing that is wrong with a text; nil when it is JSON.
    static func first(in text: [UInt8]) -> JSONComplaint? {
        var grammar = JSONGrammar(text)
        do throws(JSONComplaint) {
            try grammar.check()
            return nil
        } catch {
            return error
        }
    }

    /// The complaint with its place as editors count it: lines and characters, both from 1.
    func placed(in text: [UInt8]) -> String {
        let before = text.prefix(offset)
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        // The bytes of a character but for the first are 10xxxxxx.
        let column = before[start...].count { $0 & 0xC0 != 0x80 } + 1
        return "line \(line), column \(column): \(message)"
    }
}
