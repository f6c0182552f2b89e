import HeadgateData
import Testing

@testable import HeadgateClient

/// Tests the stored state of a barrier, which serves to register it again (Behaviour B29).
@Suite struct OwnBarrierTests {
    private func barrier(_ state: RegisteredBarrier.State = .open) -> OwnBarrier {
        OwnBarrier(BarrierRegistration("door", state, scopes: ["a", "b"]), call: ClientConnection.Call(number: 1))
    }

    @Test("B29: a state for all dispatchers replaces the earlier states, and is registered")
    func stateForAll() {
        var barrier = barrier()
        barrier.apply(BarrierChange(.closed, reason: "why", dispatcher: "a"))
        barrier.apply(BarrierChange(reason: "general"))
        barrier.apply(BarrierChange(.closed))
        #expect(barrier.params == ["id": "door", "state": "closed", "scopes": ["a", "b"]])
        #expect(barrier.further.isEmpty)
    }

    @Test("B29: reasons and single dispatchers follow the registration, in the order in which they were named")
    func exceptions() {
        var barrier = barrier()
        barrier.apply(BarrierChange(.closed, dispatcher: "b"))
        barrier.apply(BarrierChange(.closed, reason: "one", dispatcher: "a"))
        barrier.apply(BarrierChange(.open, dispatcher: "b"))
        barrier.apply(BarrierChange(reason: "two", dispatcher: "a"))
        barrier.apply(BarrierChange(reason: "all"))
        #expect(
            barrier.further == [
                BarrierChange(reason: "all"), BarrierChange(.open, dispatcher: "b"),
                BarrierChange(.closed, reason: "two", dispatcher: "a"),
            ])
    }

    @Test(
        "B29: a change counts once it is granted; it is shown as pending until then, and not at all if it is refused"
    )
    func attempts() {
        var barrier = barrier(.closed)
        let calls = (2...4).map { ClientConnection.Call(number: $0) }
        barrier.attempt(BarrierChange(.open, reason: "refused"), as: calls[0])
        barrier.attempt(BarrierChange(isFlushable: false), as: calls[1])
        barrier.attempt(BarrierChange(.open), as: calls[2])
        #expect(barrier.params["state"] == "closed")
        #expect(barrier.further.count == 3)
        barrier.refuse(calls[0])
        #expect(barrier.further == [BarrierChange(isFlushable: false), BarrierChange(.open)])
        barrier.grant(calls[1])
        barrier.grant(calls[2])
        #expect(barrier.params == ["id": "door", "state": "open", "scopes": ["a", "b"], "flushable": false])
        #expect(barrier.further.isEmpty)
    }

    @Test("B29: a later change with the same content replaces a change whose result is not known")
    func unknown() {
        var barrier = barrier(.open)
        let calls = (2...5).map { ClientConnection.Call(number: $0) }
        barrier.attempt(BarrierChange(.closed, dispatcher: "a"), as: calls[0])
        barrier.attempt(BarrierChange(isFlushable: false), as: calls[1])
        barrier.attempt(BarrierChange(.open), as: calls[2])
        barrier.grant(calls[2])
        #expect(barrier.further == [BarrierChange(isFlushable: false)])
    }

    @Test("B29: a state for one dispatcher keeps the state that holds for the others")
    func wordsOnly() {
        var barrier = barrier(.closed)
        barrier.apply(BarrierChange(reason: "only words", dispatcher: "a"))
        #expect(barrier.further == [BarrierChange(.closed, reason: "only words", dispatcher: "a")])
    }

    @Test("B2: flushability is a property of the barrier, the same for all dispatchers")
    func flushability() {
        var barrier = barrier()
        barrier.apply(BarrierChange(dispatcher: "a", isFlushable: false))
        #expect(barrier.params["flushable"] == false)
        #expect(barrier.further.isEmpty)
    }

    @Test("B29: a barrier ends with its connection by default")
    func disconnect() {
        let call = ClientConnection.Call(number: 1)
        #expect(barrier().endsWithConnection)
        for word in RegisteredBarrier.OnDisconnect.allCases {
            let barrier = OwnBarrier(BarrierRegistration("door", .open, onDisconnect: word), call: call)
            #expect(barrier.endsWithConnection == (word == .unregister))
            #expect(barrier.params["on_disconnect"] == .string(word.rawValue))
        }
    }
}
