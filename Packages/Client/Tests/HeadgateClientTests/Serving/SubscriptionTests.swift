import HeadgateClient
import HeadgateClientTesting
import HeadgateData
import HeadgateWire
import Testing

/// Tests subscriptions to dispatchers over a real socket (Behaviour K3).
@Suite(.timeLimit(.minutes(5))) struct SubscriptionTests {
    private func dispatch(_ number: Int, _ dispatcher: String, _ batch: String) -> String {
        #"{"jsonrpc":"2.0","id":\#(number),"method":"dispatch","params":{"dispatcher":"\#(dispatcher)","#
            + #""batch":"\#(batch)","attempt":2,"events":[{"id":"a"},{"id":"b"}]}}"#
    }

    @Test("K3: batches are answered: all delivered, outcomes by event, or an error")
    func batches() async throws {
        try await withDaemon { scene in
            let subscriber = try Subscriber(scene.daemon.path)
            await subscriber.subscribe(to: "jobs", credit: 3, limit: 7)
            #expect(await subscriber.next() == "began")
            let requested = await scene.daemon.record.requests
            #expect(requested.map(\.method) == ["dispatcher.subscribe"])
            #expect(requested[0].params == ["id": "jobs", "credit": 3, "limit": 7])
            for number in 1...3 { await scene.daemon.sendToAll(dispatch(number, "jobs", "x\(number)")) }
            for number in 1...3 {
                #expect(await subscriber.next() == "batch x\(number) of jobs, attempt 2: a b")
            }
            await subscriber.answer("x3", nil)
            await subscriber.answer("x2", ["b": .dead, "a": .retry])
            await subscriber.answer("x1")
            await subscriber.answer("x1", nil)
            await scene.daemon.wait { $0.results.count == 2 && $0.answers.count == 1 }
            #expect(await scene.daemon.record.answers == ["3: no"])
            #expect(await scene.daemon.record.results == [#"2: {"outcomes":{"a":"retry","b":"dead"}}"#, "1: {}"])
            await subscriber.close()
        }
    }

    @Test("An invalid batch, or one of a dispatcher without a subscription, is refused")
    func strange() async throws {
        try await withDaemon { scene in
            let subscriber = try Subscriber(scene.daemon.path)
            await subscriber.subscribe(to: "jobs")
            #expect(await subscriber.next() == "began")
            await scene.daemon.sendToAll(dispatch(1, "others", "x"))
            await scene.daemon.sendToAll(
                #"{"jsonrpc":"2.0","id":2,"method":"dispatch","params":{"dispatcher":"jobs"}}"#)
            await scene.daemon.sendToAll(#"{"jsonrpc":"2.0","id":3,"method":"dance"}"#)
            await scene.daemon.wait { $0.answers.count == 3 }
            #expect(
                await scene.daemon.record.answers == [
                    "1: no subscription to others", "2: params: must be a batch", "3: no method dance",
                ])
            await subscriber.close()
        }
    }

    @Test("A lost connection and its subscription are made again; late answers are ignored")
    func restart() async throws {
        try await withDaemon { scene in
            let subscriber = try Subscriber(scene.daemon.path)
            await subscriber.subscribe(to: "jobs")
            #expect(await subscriber.next() == "began")
            await scene.daemon.sendToAll(dispatch(1, "jobs", "x"))
            #expect(await subscriber.next() == "batch x of jobs, attempt 2: a b")
            await scene.daemon.kill()
            #expect(await subscriber.next() == "interrupted: \(ClientError.disconnected)")
            try await scene.daemon.start()
            #expect(await subscriber.next() == "began")
            await subscriber.answer("x")
            await scene.daemon.sendToAll(dispatch(2, "jobs", "y"))
            #expect(await subscriber.next() == "batch y of jobs, attempt 2: a b")
            await subscriber.answer("y")
            await scene.daemon.wait { $0.results.count == 1 }
            #expect(await scene.daemon.record.results == ["2: {}"])
            await subscriber.close()
        }
    }

    @Test("Unsubscribing handles later batches, and ends when the daemon says so")
    func unsubscribe() async throws {
        try await withDaemon { scene in
            let subscriber = try Subscriber(scene.daemon.path)
            await subscriber.subscribe(to: "jobs")
            #expect(await subscriber.next() == "began")
            await scene.daemon.follow { _ in .hold }
            await subscriber.unsubscribe(from: "jobs")
            await scene.daemon.wait { $0.held == 1 }
            #expect(await scene.daemon.record.requests.map(\.method).last == "dispatcher.unsubscribe")
            await scene.daemon.sendToAll(dispatch(1, "jobs", "x"))
            #expect(await subscriber.next() == "batch x of jobs, attempt 2: a b")
            await subscriber.answer("x")
            await scene.daemon.release()
            #expect(await subscriber.next() == "ended: \(CancellationError())")
            #expect(await subscriber.next() == "left")
            // The client no longer has this subscription.
            await subscriber.unsubscribe(from: "jobs")
            #expect(await subscriber.next() == "left")
            await subscriber.close()
        }
    }

    @Test("A repeated subscription replaces the first: after a restart only the last exists")
    func replaced() async throws {
        try await withDaemon { scene in
            let subscriber = try Subscriber(scene.daemon.path)
            for credit in [1, 4] { await subscriber.subscribe(to: "jobs", credit: credit) }
            await scene.daemon.wait { $0.requests.last?.params["credit"] == 4 }
            await scene.daemon.kill()
            try await scene.daemon.start()
            await scene.daemon.wait { $0.requests.last?.connection == 2 && $0.requests.last?.params["credit"] == 4 }
            let requests = await scene.daemon.record.requests.filter { $0.connection == 2 }
            #expect(requests.map(\.params) == [["id": "jobs", "credit": 4]])
            await subscriber.close()
        }
    }

    @Test("A repeated subscription stays when the daemon has ended the former one")
    func subscribedAgainWhileLeaving() async throws {
        try await withDaemon { scene in
            let subscriber = try Subscriber(scene.daemon.path)
            await subscriber.subscribe(to: "jobs")
            #expect(await subscriber.next() == "began")
            await scene.daemon.follow { _ in .hold }
            await subscriber.unsubscribe(from: "jobs")
            await subscriber.subscribe(to: "jobs")
            await scene.daemon.wait { $0.held == 2 }
            await scene.daemon.release()
            for reported in ["ended: \(CancellationError())", "left", "began"] {
                #expect(await subscriber.next() == reported)
            }
            await scene.daemon.sendToAll(dispatch(1, "jobs", "x"))
            await scene.daemon.sendToAll(#"{"jsonrpc":"2.0","id":2,"method":"dance"}"#)
            await scene.daemon.wait { $0.answers.last == "2: no method dance" }
            try #require(await scene.daemon.record.answers.count == 1)
            #expect(await subscriber.next() == "batch x of jobs, attempt 2: a b")
            await subscriber.close()
        }
    }

    @Test("A subscription that is refused ends")
    func refused() async throws {
        try await withDaemon { scene in
            await scene.daemon.follow { _ in .refuse(RPCError(.conflict, "no worker here")) }
            let subscriber = try Subscriber(scene.daemon.path)
            await subscriber.subscribe(to: "jobs")
            #expect(await subscriber.next() == "ended: no worker here")
            await subscriber.close()
        }
    }
}
