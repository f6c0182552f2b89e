import Testing

@testable import HeadgateTransport

@Suite struct BuffersTests {
    @Test(
        "bytes leave in order of arrival, whatever their chunks", arguments: [1, 7, 1000, 300_000, 1 << 20])
    func order(step: Int) {
        // Enough for many steps, including steps larger than the capacity that is kept.
        let expected = (0..<(step < 1000 ? 20_000 : 1_000_000)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        var buffer = OutputBuffer()
        var sent: [UInt8] = []
        var appended = 0
        while sent.count < expected.count {
            let more = min(expected.count - appended, step * 2)
            buffer.bytes.append(contentsOf: expected[appended..<appended + more])
            appended += more
            for _ in 0..<(appended == expected.count ? 1000 : 1) where !buffer.isEmpty {
                buffer.withUnsent(atMost: step) { sent.append(contentsOf: $0) }
                buffer.advance(by: min(step, buffer.count))
            }
            #expect(buffer.count == appended - sent.count)
        }
        #expect(sent == expected)
        #expect(buffer.isEmpty)
    }

    @Test("memory of sent output is released")
    func sentIsForgotten() {
        var buffer = OutputBuffer()
        for _ in 0..<100 {
            buffer.bytes.append(contentsOf: repeatElement(0, count: 10_000))
            buffer.advance(by: buffer.count - 1)
        }
        #expect(buffer.count == 1)
        #expect(buffer.bytes.count < 300_000)
    }

    @Test("a returned buffer is reused, and a very large one is not kept")
    func spares() {
        let spares = SpareBuffers()
        spares.give([UInt8](repeating: 1, count: 1000))
        let again = spares.take()
        #expect(again.isEmpty)
        #expect(again.capacity >= 1000)
        spares.give([UInt8](repeating: 1, count: 2 << 20))
        #expect(spares.take().capacity == 0)
    }
}
