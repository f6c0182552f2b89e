import HeadgateClientTesting
import HeadgateData
import HeadgateWire
import Testing

@testable import HeadgateClient

/// Tests watches as sequences over a real socket (Protocol, `watch`; Behaviour B10).
@Suite(.timeLimit(.minutes(5))) struct WatchSequenceTests {
    private func change(_ watch: String, _ dispatcher: String) -> String {
        #"{"jsonrpc":"2.0","method":"changed","params":{"watch":"\#(watch)","topic":"dispatchers","#
            + #""dispatchers":[{"id":"\#(dispatcher)"}],"removed":[]}}"#
    }

    private func dispatcher(_ id: String) -> ListedDispatcher { ListedDispatcher(["id": .string(id)]) }

    @Test("B10: a watch reports changes, the loss of the connection, and that it watches again")
    func restart() async throws {
        try await withDaemon { scene in
            await scene.daemon.answer("watch", with: ["watch": "w1"])
            let client = try scene.client()
            var updates = client.watch([.dispatchers, .clients]).makeAsyncIterator()
            #expect(try await updates.next() == .began)
            #expect(await scene.daemon.record.requests[0].params == ["topics": ["dispatchers", "clients"]])
            await scene.daemon.sendToAll(
                #"{"jsonrpc":"2.0","method":"changed","params":{"watch":"w1","topic":"weather"}}"#)
            await scene.daemon.sendToAll(change("w1", "a"))
            #expect(try await updates.next() == .dispatchers([dispatcher("a")], removed: []))
            await scene.daemon.kill()
            #expect(try await updates.next() == .interrupted(.disconnected))
            await scene.daemon.answer("watch", with: ["watch": "w2"])
            try await scene.daemon.start()
            #expect(try await updates.next() == .began)
            await scene.daemon.sendToAll(change("w2", "b"))
            #expect(try await updates.next() == .dispatchers([dispatcher("b")], removed: []))
            await client.close()
            await #expect(throws: ClientError.closed) { try await updates.next() }
            #expect(try await updates.next() == nil)
        }
    }

    @Test("A reader that has fallen behind gets the latest state once")
    func slowReader() async throws {
        try await withDaemon { scene in
            await scene.daemon.answer("watch", with: ["watch": "w1"])
            let client = try scene.client()
            var updates = client.watch().makeAsyncIterator()
            #expect(try await updates.next() == .began)
            for id in ["a", "b", "a"] { await scene.daemon.sendToAll(change("w1", id)) }
            // The ping's answer arrives after the changes.
            try await client.ping()
            #expect(try await updates.next() == .dispatchers([dispatcher("a"), dispatcher("b")], removed: []))
            await client.close()
        }
    }

    @Test("Leaving a loop ends its watch in the client and at the daemon; the next loop begins another watch")
    func left() async throws {
        try await withDaemon { scene in
            await scene.daemon.answer("watch", with: ["watch": "w1"])
            let client = try scene.client()
            let watch = client.watch([.clients])
            for try await update in watch {
                #expect(update == .began)
                break
            }
            await scene.daemon.wait { $0.requests.count == 2 }
            for try await _ in watch { break }
            await scene.daemon.wait { $0.requests.count == 4 }
            #expect(
                await scene.daemon.record.requests.map(\.method) == ["watch", "unwatch", "watch", "unwatch"])
            #expect(await client.watchCount == 0)
            await client.close()
        }
    }

    @Test("A loop whose task is cancelled ends, while it waits and before it begins")
    func cancelled() async throws {
        try await withDaemon { scene in
            await scene.daemon.answer("watch", with: ["watch": "w1"])
            let client = try scene.client()
            let task = Task {
                var count = 0
                for try await _ in client.watch() { count += 1 }
                return count
            }
            await scene.daemon.wait { $0.requests.count == 1 }
            task.cancel()
            #expect(try await task.value <= 1)
            await scene.daemon.wait { $0.requests.count == 2 }
            #expect(await scene.daemon.record.requests[1].method == "unwatch")
            let late = Task {
                while !Task.isCancelled { await Task.yield() }
                for try await _ in client.watch() { return true }
                return false
            }
            late.cancel()
            #expect(try await !late.value)
            #expect(await scene.daemon.record.requests.count == 2)
            await client.close()
        }
    }

    @Test("A refused watch throws the daemon's error")
    func refused() async throws {
        try await withDaemon { scene in
            let error = RPCError(.unauthorized, "not you")
            await scene.daemon.follow { _ in .refuse(error) }
            let client = try scene.client()
            await #expect(throws: ClientError.refused(error)) { for try await _ in client.watch() {} }
            await client.close()
        }
    }
}

extension HeadgateClient {
    fileprivate var watchCount: Int { connection.watches.count }
}
