import HeadgateClient
import HeadgateClientTesting
import HeadgateWire
import Testing

/// Tests tasks that work for dispatchers (Behaviour K3).
@Suite(.timeLimit(.minutes(5))) struct WorkTests {
    private struct NoPaper: Error {}

    private struct LongFault: Error, CustomStringConvertible {
        let text: String
        var description: String { text }
    }

    private func dispatch(_ number: Int, _ batch: String) -> String {
        #"{"jsonrpc":"2.0","id":\#(number),"method":"dispatch","params":{"dispatcher":"jobs","#
            + #""batch":"\#(batch)","attempt":1,"events":[{"id":"a"}]}}"#
    }

    @Test("K3: the handler gets each batch; a batch whose handler throws is sent again; cancelling unsubscribes")
    func work() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            let task = Task {
                try await client.work(for: "jobs", credit: 2) { batch in
                    if batch.id == "bad" { throw NoPaper() }
                    return batch.id == "mixed" ? ["a": .retry] : [:]
                }
            }
            await scene.daemon.wait { $0.requests.count == 1 }
            for (number, batch) in ["good", "bad", "mixed"].enumerated() {
                await scene.daemon.sendToAll(dispatch(number, batch))
            }
            await scene.daemon.wait { $0.results.count == 2 && $0.answers.count == 1 }
            #expect(await Set(scene.daemon.record.results) == ["0: {}", #"2: {"outcomes":{"a":"retry"}}"#])
            #expect(await scene.daemon.record.answers == ["1: NoPaper()"])
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            await scene.daemon.wait { $0.requests.count == 2 }
            #expect(await scene.daemon.record.requests[1].method == "dispatcher.unsubscribe")
            await client.close()
        }
    }

    @Test("K3: batches of a lost connection are not handled: they come again")
    func staleBatches() async throws {
        try await withDaemon { scene in
            let (client, course) = (try scene.client(), Course())
            let (gate, opener) = AsyncStream.makeStream(of: Void.self)
            let (losses, teller) = AsyncStream.makeStream(of: Void.self)
            let task = Task {
                try await client.work(
                    for: "jobs",
                    onNews: { news in
                        if case .interrupted = news { teller.yield() }
                    }
                ) { batch in
                    await course.add(batch.id)
                    if batch.id == "first" { for await _ in gate { break } }
                    return [:]
                }
            }
            await scene.daemon.wait { $0.requests.count == 1 }
            for (number, batch) in ["first", "stale", "stale too"].enumerated() {
                await scene.daemon.sendToAll(dispatch(number, batch))
            }
            while await course.steps.isEmpty { await Task.yield() }
            try await client.ping()
            await scene.daemon.kill()
            for await _ in losses { break }
            try await scene.daemon.start()
            await scene.daemon.wait { $0.requests.filter { $0.method == "dispatcher.subscribe" }.count == 2 }
            await scene.daemon.sendToAll(dispatch(9, "fresh"))
            try await client.ping()
            opener.finish()
            await scene.daemon.wait { !$0.results.isEmpty }
            #expect(await course.steps == ["first", "fresh"])
            task.cancel()
            _ = try? await task.value
            await client.close(within: .zero)
        }
    }

    @Test("K3: an answer beyond the daemon's limits is replaced by an error, and an endless message is cut")
    func oversizeAnswer() async throws {
        try await withDaemon { scene in
            await scene.daemon.greet(withLimits: ["max_line_bytes": 20_000])
            let client = try scene.client()
            let task = Task {
                try await client.work(for: "jobs", credit: 2) { batch in
                    let long = String(repeating: "é", count: 200_000)
                    if batch.id == "bad" { throw LongFault(text: long) }
                    return [long: .retry]
                }
            }
            await scene.daemon.wait { $0.requests.count == 1 }
            await scene.daemon.sendToAll(dispatch(1, "bad"))
            await scene.daemon.sendToAll(dispatch(2, "long"))
            await scene.daemon.wait { $0.answers.count == 2 }
            let answers = await scene.daemon.record.answers.sorted()
            #expect(answers[0].utf8.count < 10_000 && answers[0].hasSuffix("…"))
            #expect(answers[1].hasPrefix("2: the answer could not be sent"))
            task.cancel()
            _ = try? await task.value
            await client.close(within: .zero)
        }
    }

    @Test("K3: a dispatch whose params are not an object is answered with an error, and the connection stays")
    func oddParams() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            let task = Task { try await client.work(for: "jobs") { _ in [:] } }
            await scene.daemon.wait { $0.requests.count == 1 }
            await scene.daemon.sendToAll(#"{"jsonrpc":"2.0","id":7,"method":"dispatch","params":[1]}"#)
            await scene.daemon.sendToAll(dispatch(8, "sound"))
            await scene.daemon.wait { $0.answers.count == 1 && $0.results.count == 1 }
            #expect(await scene.daemon.record.answers == ["7: params: must be an object"])
            #expect(await scene.daemon.record.connections == 1)
            task.cancel()
            _ = try? await task.value
            await client.close(within: .zero)
        }
    }

    @Test(
        "A close accepts no further work, and waits for the running handler, whose answer leaves first"
    )
    func closeWaits() async throws {
        try await withDaemon { scene in
            let (client, course) = (try scene.client(), Course())
            let (gate, opener) = AsyncStream.makeStream(of: Void.self)
            let task = Task {
                try await client.work(for: "jobs", credit: 2) { batch in
                    await course.add(batch.id)
                    for await _ in gate { break }
                    return ["a": .retry]
                }
            }
            await scene.daemon.wait { $0.requests.count == 1 }
            await scene.daemon.sendToAll(dispatch(1, "first"))
            while await course.steps.isEmpty { await Task.yield() }
            async let left = client.close(within: .seconds(240))
            await scene.daemon.wait { $0.requests.last?.method == "dispatcher.unsubscribe" }
            await scene.daemon.sendToAll(dispatch(2, "late"))
            opener.finish()
            #expect(await left == 0)
            await #expect(throws: ClientError.closed) { try await task.value }
            await scene.daemon.wait { $0.departures == 1 }
            #expect(await scene.daemon.record.results == [#"1: {"outcomes":{"a":"retry"}}"#])
            #expect(await scene.daemon.record.answers.isEmpty)
            #expect(await course.steps == ["first"])
        }
    }

    @Test(
        "A handler that closes its own client is not waited for, and an endless one delays a close up to its timeout"
    )
    func closeInHandler() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            let task = Task {
                try await client.work(for: "jobs") { batch in
                    if batch.id == "closes" { await client.close(within: .seconds(240)) }
                    return [:]
                }
            }
            await scene.daemon.wait { $0.requests.count == 1 }
            await scene.daemon.sendToAll(dispatch(1, "closes"))
            await #expect(throws: ClientError.closed) { try await task.value }
            let another = try scene.client()
            let (endless, _) = AsyncStream.makeStream(of: Void.self)
            let (began, continuation) = AsyncStream.makeStream(of: Void.self)
            let stuck = Task {
                try await another.work(for: "jobs") { _ in
                    continuation.yield()
                    for await _ in endless {}
                    return [:]
                }
            }
            await scene.daemon.wait { $0.requests.last?.connection == 2 }
            await scene.daemon.sendToAll(dispatch(1, "stuck"))
            for await _ in began { break }
            #expect(await another.close(within: .milliseconds(20)) == 0)
            _ = try? await stuck.value
        }
    }

    /// The steps of a test, in order.
    private actor Course {
        private(set) var steps: [String] = []

        func add(_ step: String) {
            steps.append(step)
        }
    }

    @Test("K3: no more batches run at once than the credit, even if those of a lost connection continue")
    func credit() async throws {
        try await withDaemon { scene in
            let (client, course) = (try scene.client(), Course())
            let (gate, opener) = AsyncStream.makeStream(of: Void.self)
            let task = Task {
                try await client.work(for: "jobs") { batch in
                    await course.add("begin \(batch.id)")
                    if batch.id == "first" { for await _ in gate { break } }
                    await course.add("end \(batch.id)")
                    return [:]
                }
            }
            await scene.daemon.wait { $0.requests.count == 1 }
            for (number, batch) in ["first", "second", "third"].enumerated() {
                await scene.daemon.sendToAll(dispatch(number, batch))
            }
            // The client has received everything that the daemon sent before the ping's answer.
            try await client.ping()
            opener.yield()
            await scene.daemon.wait { $0.results.count == 3 }
            #expect(
                await course.steps == ["first", "second", "third"].flatMap { ["begin \($0)", "end \($0)"] })
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            await client.close()
        }
    }

    @Test("A refusal is thrown")
    func refused() async throws {
        try await withDaemon { scene in
            await scene.daemon.follow { _ in .refuse(RPCError(.conflict, "no worker here")) }
            let client = try scene.client()
            let error = ClientError.refused(RPCError(.conflict, "no worker here"))
            await #expect(throws: error) { try await client.work(for: "jobs") { _ in [:] } }
            await client.close()
        }
    }

    @Test("Two tasks cannot work for one dispatcher; the next can as soon as the first has been cancelled")
    func oneAtATime() async throws {
        try await withDaemon { scene in
            let client = try scene.client()
            let first = Task { try await client.work(for: "jobs") { _ in ["a": .dead] } }
            await scene.daemon.wait { $0.requests.count == 1 }
            let conflict = ClientError.refused(RPCError(.conflict, "this client already has a subscription to jobs"))
            await #expect(throws: conflict) { try await client.work(for: "jobs") { _ in [:] } }
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            let (news, continuation) = AsyncStream.makeStream(of: ServingNews.self)
            let second = Task { try await client.work(for: "jobs", onNews: { continuation.yield($0) }) { _ in [:] } }
            var reported = news.makeAsyncIterator()
            #expect(await reported.next() == .began)
            await scene.daemon.sendToAll(dispatch(1, "x"))
            await scene.daemon.wait { $0.results.count == 1 }
            #expect(await scene.daemon.record.results == ["1: {}"])
            second.cancel()
            await #expect(throws: CancellationError.self) { try await second.value }
            await client.close()
        }
    }
}
