import Testing

@testable import HeadgateConsole

@Suite("Open connections")
struct OpenConnectionsTests {
    private func connections(most: Int = 3) -> OpenConnections<Int> {
        OpenConnections(most: most, timeLimit: .seconds(10))
    }

    @Test("Reading the head and reading the body each have a time limit, and an answer has none")
    func deadlines() {
        var open = connections()
        let surplus = open.opened(1, at: .zero)
        #expect(surplus == nil)
        #expect(open.overdue(at: .milliseconds(9_999)).isEmpty && open.overdue(at: .seconds(10)) == [1])
        open.reached(.body, 1, at: .seconds(9))
        #expect(open.overdue(at: .seconds(18)).isEmpty && open.overdue(at: .seconds(19)) == [1])
        open.reached(.answering, 1, at: .seconds(18))
        #expect(open.overdue(at: .seconds(1_000)).isEmpty)
        open.reached(.head, 1, at: .seconds(1_000))
        #expect(open.overdue(at: .seconds(1_010)) == [1])
        open.closed(1)
        #expect(open.overdue(at: .seconds(2_000)).isEmpty && open.count == 0)
    }

    @Test("At the limit the oldest connection without a session is closed; those with sessions stay")
    func room() {
        var open = connections()
        let first = [1, 2, 3].map { open.opened($0, at: .zero) }
        #expect(first == [nil, nil, nil])
        open.signedIn(1)
        let second = open.opened(4, at: .zero)
        #expect(second == 2)
        open.closed(2)
        for id in [3, 4] { open.signedIn(id) }
        // Only the new connection has no session.
        let third = open.opened(5, at: .zero)
        #expect(third == 5)
    }

    @Test("O3: each connection over the limit closes a different one, even while earlier ones are still closing")
    func burst() {
        var open = connections()
        let surplus = (1...9).map { open.opened($0, at: .zero) }
        #expect(surplus == [nil, nil, nil, 1, 2, 3, 4, 5, 6])
        for id in 1...6 { open.closed(id) }
        let next = open.opened(10, at: .zero)
        #expect(next == 7 && open.count == 4)
    }
}
