import HeadgateClient
import HeadgateClientTesting
import HeadgateData
import HeadgateWire
import Testing

/// Tests work event by event, with data of types that the program defines (Behaviour K3).
@Suite(.timeLimit(.minutes(5))) struct DeliveredEventTests {
    private struct Label: Codable, Equatable {
        var labelText: String
    }

    private struct NoPaper: Error {}

    private func event(_ id: String, _ data: String) -> String {
        #"{"id":"\#(id)","seq":7,"event":"label","time":"1970-01-01T00:00:01.500Z","attempt":2,"data":\#(data)}"#
    }

    @Test("An event has all its members, and its data as the coder reads it")
    func event() throws {
        let text = event("a", #"{"label_text":"x"}"#)
        let object: DataObject = try #require(try DataItem(parsing: Array(text.utf8)).get())
        let event = try DeliveredEvent<Label>(object, by: DataCoder(keys: .snakeCase, dates: .secondsSince1970))
        #expect(event.id == "a" && event.sequenceNumber == 7 && event.event == "label" && event.key == nil)
        #expect(event.time == Timestamp(milliseconds: 1_500) && event.attempt == 2)
        #expect(event.data == Label(labelText: "x"))
        #expect(throws: DecodingError.self) { try DeliveredEvent<Label>(object) }
        #expect(throws: DecodingError.self) { try DeliveredEvent<Label>(["data": ["labelText": "x"]]) }
    }

    @Test("K3: each event has its outcome: dead if its data has another type, retry if the handler throws")
    func work() async throws {
        try await withDaemon { scene in
            let client = try scene.client { $0.coder.keys = .snakeCase }
            let task = Task {
                try await client.work(for: "jobs", as: Label.self) { event in
                    if event.data.labelText == "throw" { throw NoPaper() }
                    return event.data.labelText == "kill" ? .dead : .delivered
                }
            }
            await scene.daemon.wait { $0.requests.count == 1 }
            let texts = ["print", "throw", "kill"].map { event($0, #"{"label_text":"\#($0)"}"#) }
            let events = (texts + [event("other", #"{"labelText":"x"}"#)]).joined(separator: ",")
            await scene.daemon.sendToAll(
                #"{"jsonrpc":"2.0","id":1,"method":"dispatch","params":"#
                    + #"{"dispatcher":"jobs","batch":"b","attempt":1,"events":[\#(events)]}}"#)
            await scene.daemon.wait { $0.results.count == 1 }
            #expect(
                await scene.daemon.record.results == [
                    #"1: {"outcomes":{"kill":"dead","other":"dead","throw":"retry"}}"#
                ])
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            await client.close()
        }
    }
}
