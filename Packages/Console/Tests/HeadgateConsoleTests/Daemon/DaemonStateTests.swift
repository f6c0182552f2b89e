import HeadgateClient
import HeadgateData
import HeadgateWire
import Testing

@testable import HeadgateConsole

/// Tests the console's copy of the daemon's state.
@Suite("The daemon's state")
struct DaemonStateTests {
    private let then = Timestamp(milliseconds: 1_000)
    private let now = Timestamp(milliseconds: 2_000)

    private func dispatcher(_ id: String, pending: Int = 0) -> DataObject {
        ["id": .string(id), "state": "open", "pending": .number(DataNumber(pending))]
    }

    private func state(_ ids: String...) -> DaemonState {
        var state = DaemonState()
        state.take(status: ["ready": true, "dispatchers": .array(ids.map { .object(dispatcher($0)) })], at: then)
        return state
    }

    @Test("Changed entries keep their position, new ones are last, removed ones are gone")
    func updates() {
        var state = state("a", "b", "c")
        let news = [dispatcher("b", pending: 5), dispatcher("d")].map(ListedDispatcher.init)
        state.take(.dispatchers(news, removed: ["a"]), at: now)
        #expect(state.dispatchers.map(\.id) == ["b", "c", "d"] && state.dispatcher("b")?.pending == 5)
        #expect(state.asOf == now)
    }

    @Test("The state of an absent daemon stays, with the time of the loss, but without its clients")
    func away() {
        var state = state("a")
        state.take(clients: [])
        state.fail(ClientError.disconnected, at: now)
        state.fail(ClientError.cannotConnect(path: "/s", cause: "x"), at: Timestamp(milliseconds: 9_000))
        guard case .away(_, let since) = state.presence else {
            Issue.record("it is \(state.presence)")
            return
        }
        #expect(since == now && state.dispatchers.map(\.id) == ["a"] && state.clients == nil && !state.isReady)
        state.take(status: ["ready": true], at: now)
        #expect(state.presence == .serving && state.isReady)
    }

    @Test("X1: a daemon that grants no right to read its state is still shown as connected")
    func refusing() {
        var state = DaemonState()
        state.fail(ClientError.refused(RPCError(.unauthorized, "no")), at: now)
        #expect(state.presence == .refusing("no"))
    }
}
