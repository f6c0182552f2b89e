import Testing

@testable import HeadgateData

@Suite("Numbers")
struct DataNumberTests {
    @Test(
        "P6: a number keeps its text, and has its numeric value",
        arguments: [
            ("0", 0, 0), ("-0", 0, 0), ("7.0", 7, 7), ("7e2", 700, 700), ("1.5", nil, 1.5), ("1e999", nil, nil),
            ("-1e999", nil, nil),
            ("9223372036854775807", Int.max, 9.223372036854775807e18),
            ("9223372036854775808", nil, 9.223372036854775808e18),
            ("9007199254740992.0", 9_007_199_254_740_992, 9_007_199_254_740_992),
            ("9007199254740994.0", 9_007_199_254_740_994, 9_007_199_254_740_994),
            ("922337203685477580700e-2", Int.max, 9.223372036854775807e18), ("1e19", nil, 1e19), ("-1.50E+1", -15, -15),
            ("0.00e99999999999999999999", 0, 0), ("5e-99999999999999999999", nil, 0), ("1e-400", nil, 0),
            ("0.99999999999999999999", nil, 1), ("12e-1", nil, 1.2),
        ] as [(String, Int?, Double?)])
    func reads(text: String, int: Int?, double: Double?) {
        let number = DataNumber(unchecked: text)
        #expect(number.text == text)
        #expect(number.int == int)
        #expect(number.double == double)
    }

    @Test("Numbers of a program survive writing and reading")
    func writes() {
        #expect(DataNumber(-5).text == "-5")
        for value in [0.1, -2.5, 1e21, .leastNonzeroMagnitude, 1.7976931348623157e308, 100] {
            #expect(DataNumber(value).double == value)
        }
    }
}
