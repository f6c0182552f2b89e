import Testing

@testable import HeadgateTransport

/// The queue of lines for standard error, tested without a file descriptor.
@Suite struct LineQueueTests {
    /// Adds a line of five bytes plus a newline.
    private func add(_ number: Int, to queue: inout LineQueue) -> Bool {
        queue.add("line\(number)") { "\($0) dropped" }
    }

    /// Takes the next line as a writer does whose write succeeds.
    private func take(from queue: inout LineQueue) -> String? {
        guard let line = queue.next() else { return nil }
        queue.finish(isWritten: true)
        return String(decoding: line, as: UTF8.self)
    }

    @Test("O4: the first line starts a writer, which writes all lines in order and ends")
    func order() {
        var queue = LineQueue(limit: 600)
        #expect(add(1, to: &queue))
        #expect(!add(2, to: &queue))
        #expect(take(from: &queue) == "line1\n")
        #expect(take(from: &queue) == "line2\n")
        #expect(take(from: &queue) == nil)
        #expect(add(3, to: &queue))
    }

    @Test("O4: lines over the limit are dropped, counted, and reported once after the kept ones")
    func bound() {
        var queue = LineQueue(limit: 12)
        for number in 1...5 { _ = add(number, to: &queue) }
        #expect(queue.dropped == 3)
        #expect((0..<4).map { _ in take(from: &queue) } == ["line1\n", "line2\n", "3 dropped\n", nil])
        _ = add(6, to: &queue)
        #expect(take(from: &queue) == "line6\n")
        #expect(queue.dropped == 3)
    }

    @Test("O4: a reader that reads one line at a time gets one notice, not one for each line")
    func hysteresis() {
        var queue = LineQueue(limit: 24)
        var output: [String?] = []
        for number in 1...6 { _ = add(number, to: &queue) }
        output.append(take(from: &queue))
        // The line fits, but after a loss the queue accepts lines only when half of its limit is free.
        _ = add(7, to: &queue)
        output.append(take(from: &queue))
        output.append(take(from: &queue))
        _ = add(8, to: &queue)
        while let line = take(from: &queue) { output.append(line) }
        #expect(output == ["line1\n", "line2\n", "line3\n", "line4\n", "3 dropped\n", "line8\n"])
    }

    @Test("O4: a line that cannot be written is counted, and reported before the next one that can")
    func failure() {
        var queue = LineQueue(limit: 600)
        for number in 1...2 {
            #expect(add(number, to: &queue))
            while queue.next() != nil { queue.finish(isWritten: false) }
        }
        // The notice about the first loss could not be written either. It does not count as a lost line.
        #expect(queue.dropped == 2)
        #expect(add(3, to: &queue))
        #expect(take(from: &queue) == "2 dropped\n")
        #expect(take(from: &queue) == "line3\n")
        #expect(take(from: &queue) == nil)
    }
}
