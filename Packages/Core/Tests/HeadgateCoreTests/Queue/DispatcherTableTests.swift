import Testing

@testable import HeadgateCore

@Suite("A table by dispatcher number")
struct DispatcherTableTests {
    @Test("The table agrees with a dictionary, in the order of the numbers")
    func isDictionary() {
        var (table, model) = (DispatcherTable<Int>(), [DispatcherNumber: Int]())
        var random = SeededRandom(seed: 1)
        for step in 0..<2_000 {
            let number = DispatcherNumber.random(in: -3...40, using: &random)
            switch step % 3 {
            case 0: (table[number], model[number]) = (nil, nil)
            case 1: (table[number], model[number]) = (step, step)
            default:
                table[number, default: 7] += 1
                model[number, default: 7] += 1
            }
            #expect(table[number] == model[number])
            #expect(table.values == model.sorted { $0.key < $1.key }.map(\.value))
        }
    }
}
