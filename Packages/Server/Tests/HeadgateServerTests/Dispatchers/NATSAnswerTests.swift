import CNATS
import Testing

@testable import HeadgateCore
@testable import HeadgateServer

@Suite("Answers of NATS")
struct NATSAnswerTests {
    private func again(_ cause: String, charged: Bool) -> EventOutcome {
        .retry(cause: cause, charged: charged)
    }

    @Test("D3, K4: what the servers say of the stream goes again and charges nothing: no event is at fault")
    func configuration() {
        for (code, cause) in [
            (JSStreamNotFoundErr, "NATS: the stream does not exist"),
            (JSStreamNotMatchErr, "NATS: another stream takes the subject"),
            (JSStreamSealedErr, "NATS: the stream is sealed"),
            (JSNotEnabledErr, "NATS: JetStream is not enabled"),
        ] {
            let answer = NATSAnswer(refusal: code)
            #expect(answer.outcome == again(cause, charged: false))
            #expect(answer.isStreamInDoubt)
        }
        let silent = NATSAnswer(failure: NATS_NO_RESPONDERS)
        #expect(silent.outcome == again("NATS: no stream takes the subject", charged: false))
        #expect(silent.isStreamInDoubt)
    }

    @Test("D3, K4: what the stream cannot store now goes again, and is charged")
    func full() {
        let full = NATSAnswer(refusal: JSStreamStoreFailedErr, text: "maximum bytes exceeded")
        #expect(full == NATSAnswer(refusal: JSStreamStoreFailedErr, text: "maximum messages exceeded"))
        #expect(full.outcome == again("NATS: the stream is full", charged: true))
        #expect(!full.isStreamInDoubt)
        let other = NATSAnswer(refusal: JSStreamStoreFailedErr, text: "s3cret")
        #expect(other.outcome == again("NATS: the stream could not store the event", charged: true))
        let unknown = NATSAnswer(refusal: jsErrCode(19_999), text: "s3cret")
        #expect(unknown.outcome == again("NATS: JetStream error 19999", charged: true))
    }

    @Test("D6, K4: an event that is too large for the server or the stream is dead")
    func tooLarge() {
        let server = NATSAnswer(failure: NATS_MAX_PAYLOAD)
        #expect(server.outcome == .dead(.tooLarge, cause: "NATS: larger than the server's max_payload"))
        let stream = NATSAnswer(refusal: JSStreamMessageExceedsMaximumErr)
        #expect(stream.outcome == .dead(.tooLarge, cause: "NATS: larger than the stream's max_msg_size"))
    }

    @Test("D9: no answer goes again, and charges nothing")
    func noAnswer() {
        for (status, cause) in [
            (NATS_TIMEOUT, "timed out"), (NATS_CONNECTION_CLOSED, "connection lost"),
            (NATS_INSUFFICIENT_BUFFER, "NATS: not connected"), (NATS_NO_SERVER, "NATS: no server could be reached"),
            (NATS_CONNECTION_AUTH_FAILED, "NATS: authorization violation"),
            (NATS_NOT_PERMITTED, "NATS: permissions violation"), (NATS_PROTOCOL_ERROR, "NATS: protocol error"),
        ] {
            #expect(NATSAnswer(failure: status).outcome == again(cause, charged: false))
        }
    }

    @Test(
        "K4: an event's id is the same however it is spelled",
        arguments: [
            (#""a""#, "a"), (#""\u0061\n""#, "a\n"), ("\"\"", ""), ("\"\\\"\"", "\""), ("a", "a"), ("\"", "\""),
            ("", ""), ("\"\u{301}\\/\"", "\u{301}/"), (#""\""#, "\u{FFFD}"), (#""a\u00""#, "a\u{FFFD}"),
        ])
    func plainId(spelled: String, plain: String) {
        #expect(Batch.Event(id: spelled, sequenceNumber: 1, range: 0..<0).plainId == plain)
    }
}
