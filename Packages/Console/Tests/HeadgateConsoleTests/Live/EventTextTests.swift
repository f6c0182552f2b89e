import Testing

@testable import HeadgateConsole

/// Tests server-sent events.
@Suite("Event streams")
struct EventTextTests {
    private func text(_ words: String) -> String {
        String(decoding: EventText.event("region", words), as: UTF8.self)
    }

    @Test("Each line, whatever its line end, becomes a data line, so that no text ends or begins an event")
    func framing() {
        #expect(text("a") == "event: region\ndata: a\n\n")
        #expect(text("a\nb") == "event: region\ndata: a\ndata: b\n\n")
        #expect(
            text("a\n\nevent: x\r\ndata: y\rz")
                == "event: region\ndata: a\ndata: \ndata: event: x\ndata: data: y\ndata: z\n\n")
        #expect(text("") == "event: region\ndata: \n\n")
    }
}
