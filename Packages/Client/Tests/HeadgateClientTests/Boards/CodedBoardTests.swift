import HeadgateClient
import HeadgateClientTesting
import HeadgateData
import HeadgateWire
import Testing

/// Tests boards whose input and output are of types that the program defines (Behaviour A1).
@Suite(.timeLimit(.minutes(5))) struct CodedBoardTests {
    private struct Order: Codable, Equatable {
        var itemCount: Int
    }

    private struct Bill: Codable, Equatable {
        var totalPrice: Double
    }

    @Test("A1: a board gets its input and returns its output in the coder's types")
    func serve() async throws {
        try await withDaemon { scene in
            let client = try scene.client { $0.coder.keys = .snakeCase }
            let task = Task {
                try await client.serve("till", as: Order.self) { order in
                    order.itemCount == 0 ? nil : Bill(totalPrice: Double(order.itemCount) * 1.5)
                }
            }
            await scene.daemon.wait { $0.requests.count == 1 }
            for (number, input) in [#"{"item_count":3}"#, #"{"item_count":0}"#, "7"].enumerated() {
                await scene.daemon.sendToAll(
                    #"{"jsonrpc":"2.0","id":\#(number),"method":"board.run","params":"#
                        + #"{"board":"till","activation":"a-1","input":\#(input)}}"#)
            }
            await scene.daemon.wait { $0.results.count == 2 && $0.answers.count == 1 }
            #expect(
                await Set(scene.daemon.record.results) == [
                    #"0: {"done":true,"output":{"total_price":4.5}}"#, #"1: {"done":false}"#,
                ])
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            await client.close()
        }
    }

    @Test("A1: an activation encodes its input and decodes its output")
    func activate() async throws {
        let answer = #"{"jsonrpc":"2.0","id":1,"result":{"done":true,"output":{"totalPrice":4.5}}}"#
        try await withDaemon {
            _ in
            .write(answer)
        } _: { scene in
            let client = try scene.client()
            let outcome = try await client.activate("till", with: Order(itemCount: 3), wait: .seconds(1))
            #expect(try outcome.decodeOutput(as: Bill.self) == Bill(totalPrice: 4.5))
            #expect(throws: DecodingError.self) { try outcome.decodeOutput(as: Order.self) }
            #expect(try BoardOutcome.refused.decodeOutput(as: Bill?.self) == nil)
            #expect(throws: DecodingError.self) { try BoardOutcome.done.decodeOutput(as: Bill.self) }
            #expect(
                await scene.daemon.record.requests.map(\.params) == [
                    ["board": "till", "input": ["itemCount": 3], "wait_ms": 1_000]
                ])
            await client.close()
        }
    }
}
