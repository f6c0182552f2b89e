import Testing

@testable import HeadgateData

@Suite("Writing bytes")
struct ByteCursorTests {
    @Test("Numbers are written in decimal, and their digits are counted")
    func numbers() {
        var numbers: [Int64] = [0, .max, .max - 1]
        var power: Int64 = 1
        for _ in 0..<18 {
            power *= 10
            numbers += [power - 1, power, power + 1]
        }
        for number in numbers {
            var bytes = Array("a".utf8)
            bytes.append(most: 19) { $0.put(number) }
            #expect(String(decoding: bytes, as: UTF8.self) == "a\(number)")
            #expect(number.digitCount == "\(number)".utf8.count)
        }
    }

    @Test("A number of any length fits into a buffer of exactly its length")
    func exactly() {
        for digit in 0..<10 {
            for length in 1...18 {
                let text = "1" + String((1..<length).map { Character("\(($0 * 7 + digit) % 10)") })
                var bytes: [UInt8] = []
                Int64(text).map { number in bytes.append(most: length) { $0.put(number) } }
                #expect(String(decoding: bytes, as: UTF8.self) == text)
            }
        }
    }

    @Test("P6: JSON is written with spaces for control characters, at every length and offset")
    func spacedJSON() {
        for length in 0...40 {
            for position in 0..<max(length, 1) {
                for byte in [0x00, 0x09, 0x0A, 0x0D, 0x1F, 0x20, 0x21, 0x7F, 0x80, 0x9F, 0xE0, 0xFF] as [UInt8] {
                    var json = (0..<length).map { UInt8(truncatingIfNeeded: 0x21 + $0 * 37) | 0x20 }
                    if length > 0 { json[position] = byte }
                    var bytes: [UInt8] = []
                    bytes.append(most: length) { cursor in json.withUnsafeBytes { cursor.put(json: $0) } }
                    #expect(bytes == json.map { max($0, 0x20) })
                }
            }
        }
    }

    @Test("Numbers below a million are written in decimal, and the next byte follows them")
    func manyNumbers() {
        for number in stride(from: 0, to: 1_000_000, by: 7) {
            var bytes: [UInt8] = []
            bytes.append(most: 20) { cursor in
                cursor.put(Int64(number))
                cursor.put("!")
            }
            guard bytes.elementsEqual("\(number)!".utf8) else { return #expect(bytes == Array("\(number)!".utf8)) }
        }
    }

    @Test("Q8: a negative number, which only a damaged store can have, is written as 0")
    func negative() {
        for number in [-1, Int64.min] {
            var bytes: [UInt8] = []
            bytes.append(most: 1) { $0.put(number) }
            #expect(bytes == Array("0".utf8) && number.digitCount == 1)
        }
    }

    @Test("Written bytes are appended without unused space")
    func pieces() {
        var bytes = Array("start:".utf8)
        for count in 0..<100 {
            let piece = [UInt8](repeating: UInt8(ascii: "x"), count: count)
            let before = bytes
            bytes.append(most: 2 * count + 50) { cursor in
                cursor.put("<")
                piece.withUnsafeBytes { cursor.put($0) }
                cursor.put(Int64(count))
                cursor.put(">")
                #expect(cursor.offset == 2 + count + "\(count)".utf8.count)
            }
            #expect(bytes == before + Array("<".utf8) + piece + Array("\(count)>".utf8))
        }
    }

    @Test("Reserved space can be written later")
    func skips() {
        var bytes: [UInt8] = []
        bytes.append(most: 10) { cursor in
            cursor.skip(2)
            cursor.put("c")
            cursor.room[0] = UInt8(ascii: "a")
            cursor.room[1] = UInt8(ascii: "b")
        }
        #expect(String(decoding: bytes, as: UTF8.self) == "abc")
    }
}
