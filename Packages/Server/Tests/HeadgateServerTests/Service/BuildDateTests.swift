import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("The build date")
struct BuildDateTests {
    @Test("P7: the build date is the compiler's date minus a day for time zones; other text is invalid")
    func parsed() {
        #expect(BuildDate.parse("Nov  6 2026")?.text == "2026-11-05T00:00:00.000Z")
        #expect(BuildDate.parse("Jan 31 2027")?.text == "2027-01-30T00:00:00.000Z")
        for text in ["", "??? ?? ????", "Feb 30 2026", "2026-11-06", "Nov x 2026"] {
            #expect(BuildDate.parse(text) == nil, "\(text)")
        }
    }

    @Test("P7: the build date of this program is known")
    func known() {
        #expect(BuildDate.earliest.text > "2026")
    }
}
