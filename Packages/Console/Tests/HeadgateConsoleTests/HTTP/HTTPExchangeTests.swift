import Testing

@testable import HeadgateConsole

/// Tests requests whose browser disconnects.
@Suite("HTTP exchanges")
struct HTTPExchangeTests {
    private final class Stream: StreamSource {
        var departures = 0

        func read(atMost count: Int) -> [UInt8]? { [] }
        func readerLeft() { departures += 1 }
    }

    /// Returns an exchange at a stage. These tests never call the library, so the connection may be any pointer.
    private func exchange(at stage: HTTPExchange.Stage) throws -> HTTPExchange {
        HTTPExchange(on: try #require(OpaquePointer(bitPattern: 8)), of: nil, target: "/live", stage: stage)
    }

    @Test("A browser that disconnects before its stream is answered is reported as a lost reader, once")
    func before() throws {
        let (stream, exchange) = (Stream(), try exchange(at: .requested))
        exchange.end()
        exchange.answer(.events(stream))
        #expect(stream.departures == 1)
    }

    @Test("A browser that disconnects after the answer, before the library took it, is a lost reader, too")
    func between() throws {
        let (stream, exchange) = (Stream(), try exchange(at: .requested))
        exchange.answer(.events(stream))
        #expect(stream.departures == 0)
        exchange.end()
        exchange.end()
        #expect(stream.departures == 1)
    }

    @Test("A second answer to a request is refused, and its stream has no reader")
    func twice() throws {
        let (first, second, exchange) = (Stream(), Stream(), try exchange(at: .requested))
        exchange.answer(.events(first))
        exchange.answer(.events(second))
        #expect(first.departures == 0 && second.departures == 1)
    }

    @Test("A stream that the library reads loses its reader once, when its connection is dropped or its request ends")
    func streaming() throws {
        let (stream, exchange) = (Stream(), try exchange(at: .requested))
        let streaming = try self.exchange(at: .streaming(stream))
        let connection = try #require(OpaquePointer(bitPattern: 8))
        #expect(streaming.isStream(on: connection) && !exchange.isStream(on: connection))
        streaming.disconnected()
        #expect(!streaming.isStream(on: connection))
        streaming.end()
        #expect(stream.departures == 1)
        try self.exchange(at: .streaming(stream)).end()
        #expect(stream.departures == 2)
    }
}
