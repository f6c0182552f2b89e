import CNATS
import HeadgateWire
import Testing

@testable import HeadgateCore
@testable import HeadgateServer

@Suite("Answers of NATS")
struct NATSAnswerTests {
    private func again(_ cause: String, charged: Bool) -> EventOutcome {
        .retry(cause: cause, charged: charged)
    }

    @Test("D3, K4: after an error of the stream's configuration the event is sent again, uncharged")
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
        #expect(silent.outcome == again("NATS: no stream has this subject", charged: false))
        #expect(silent.isStreamInDoubt)
    }

    @Test("D9, K4: a stream, cluster or account that is full or not ready is an outage; the attempt is not charged")
    func full() {
        let full = NATSAnswer(refusal: JSStreamStoreFailedErr, text: "maximum bytes exceeded")
        #expect(full == NATSAnswer(refusal: JSStreamStoreFailedErr, text: "maximum messages exceeded"))
        #expect(full.outcome == again("NATS: the stream is full", charged: false))
        #expect(!full.isStreamInDoubt)
        let other = NATSAnswer(refusal: JSStreamStoreFailedErr, text: "s3cret")
        #expect(other.outcome == again("NATS: the stream could not store the event", charged: false))
        for (code, cause) in [
            (10008, "NATS: the cluster is not ready"), (10009, "NATS: the cluster is not ready"),
            (10023, "NATS: the server's or the account's limits are reached"),
            (10047, "NATS: the server's or the account's limits are reached"),
            (10002, "NATS: the server's or the account's limits are reached"),
            (19_999, "NATS: JetStream error 19999"),
        ] {
            let answer = NATSAnswer(refusal: jsErrCode(UInt32(code)), text: "s3cret")
            #expect(answer.outcome == again(cause, charged: false))
        }
    }

    @Test("D9, K4: a refusal by a rule of the stream is charged to the event")
    func rule() {
        let answer = NATSAnswer(refusal: JSStreamRollupFailedErr, text: "s3cret")
        #expect(answer.outcome == again("NATS: a rule of the stream rejects the event", charged: true))
    }

    @Test(
        "X4, K4: a failed TLS handshake is reported in fixed words, without text of the server",
        arguments: [
            ("62:hostname mismatch:expected=s3cret:cert=/CN=n1", "TLS: certificate of another host"),
            ("10:certificate has expired:depth=0:cert=/CN=s3cret", "TLS: certificate expired"),
            ("20:unable to get local issuer certificate:depth=0:cert=/CN=s3cret", "TLS: certificate not trusted"),
            ("error:0A000412:SSL routines::sslv3 alert bad certificate s3cret", "TLS: client certificate refused"),
            ("error:0A000086:SSL routines::s3cret", "TLS: handshake failed"),
        ])
    func handshake(text: String, cause: String) throws {
        let settings = NATSSettings(servers: [try NATSServer("tls://n1")], subject: "s")
        #expect(NATSTLSFault.cause(NATS_SSL_ERROR, text, settings) == cause)
        #expect(NATSTLSFault.cause(NATS_NO_SERVER, text, settings) == nil)
    }

    @Test("K4: if a server ends a connection right after the TLS handshake, the cause names the client certificate")
    func ended() throws {
        var settings = NATSSettings(servers: [try NATSServer("n1")], subject: "s")
        let text = "Expected 'PONG', got ''"
        #expect(NATSTLSFault.cause(NATS_PROTOCOL_ERROR, text, settings) == nil)
        settings.tls = .init()
        let ended = "TLS: the server ended the connection; it may "
        #expect(NATSTLSFault.cause(NATS_PROTOCOL_ERROR, text, settings) == ended + "require a client certificate")
        settings.tls = .init(certFile: "mine.pem")
        #expect(NATSTLSFault.cause(NATS_PROTOCOL_ERROR, text, settings) == ended + "not accept the client certificate")
        #expect(NATSTLSFault.cause(NATS_PROTOCOL_ERROR, "Expected 'PONG', got 'x'", settings) == nil)
    }

    @Test("K4, K8: a message id is the batch's origin and the sequence number, or the percent-encoded event id")
    func messageID() {
        var batch = Batch(of: ["{}"], in: .separate)
        batch.events = [Batch.Event(id: "\"a b\"", sequenceNumber: 7, range: 0..<2)]
        batch.origin = "00ff-3"
        let texts = [NATSSettings.MessageID.dispatch, .event].map { kind in
            var text: [UInt8] = []
            kind.append(of: batch.events[0], in: batch, to: &text)
            return String(decoding: text, as: UTF8.self)
        }
        #expect(texts == ["00ff-3-7", "a%20b"])
    }

    @Test(
        "K4: an answer is stored, duplicate or an error code; any other text is a failure",
        arguments: [
            (#"{"stream":"EVENTS", "seq":12}"#, NATSAnswer.stored),
            (#"{"stream":"EVENTS","domain":"hub","seq":12,"duplicate": true}"#, .duplicate),
            (
                #"{"type":"x","error":{"code":503,"err_code":10008,"description":"s3cret"}}"#,
                .init(refusal: jsErrCode(10008))
            ),
            (#"{"error":{"code":500,"description":"s3cret"},"stream":"EVENTS","seq":0}"#, .init(failure: NATS_ERR)),
            (#"{"error":{"err_code":-1}}"#, .init(failure: NATS_ERR)), ("+OK", .init(failure: NATS_ERR)),
            ("", .init(failure: NATS_ERR)), ("{}", .init(failure: NATS_ERR)), ("[]", .init(failure: NATS_ERR)),
        ])
    func answers(json: String, answer: NATSAnswer) {
        let scanner = JSONScanner()
        #expect(Array(json.utf8).withUnsafeBytes { NATSAnswer(json: $0, scanner) } == answer)
    }

    @Test("K4: the message of an acknowledgement is read from its subject; other subjects are ignored")
    func subjects() {
        let message = MessageFlights.Message(flight: 12, event: 10_345)
        var subject = Array("_INBOX.x7.".utf8)
        message.appendSubject(to: &subject)
        #expect(String(decoding: subject, as: UTF8.self) == "_INBOX.x7.12.10345")
        #expect(subject.withUnsafeBytes { MessageFlights.Message(subject: $0) } == message)
        for other in ["", ".", "_INBOX.x", "_INBOX.1", "_INBOX.1.", "_INBOX.x.1.a", "_INBOX.x.1.1234567890123456789"] {
            #expect(Array(other.utf8).withUnsafeBytes { MessageFlights.Message(subject: $0) } == nil)
        }
    }

    @Test("D6, K4: an event that is too large for the server or the stream is dead-lettered")
    func tooLarge() {
        let server = NATSAnswer(failure: NATS_MAX_PAYLOAD)
        #expect(server.outcome == .dead(.tooLarge, cause: "NATS: larger than the server's max_payload"))
        let stream = NATSAnswer(refusal: JSStreamMessageExceedsMaximumErr)
        #expect(stream.outcome == .dead(.tooLarge, cause: "NATS: larger than the stream's max_msg_size"))
    }

    @Test("D9: after an attempt without an answer the event is sent again, uncharged")
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
        "K4: JSON escapes of an event's id are decoded, and damaged ones replaced",
        arguments: [
            (#""a""#, "a"), (#""\u0061\n""#, "a\n"), ("\"\"", ""), ("\"\\\"\"", "\""), ("a", "a"), ("\"", "\""),
            ("", ""), ("\"\u{301}\\/\"", "\u{301}/"), (#""\""#, "\u{FFFD}"), (#""a\u00""#, "a\u{FFFD}"),
        ])
    func plainId(spelled: String, plain: String) {
        #expect(Batch.Event(id: spelled, sequenceNumber: 1, range: 0..<0).plainId == plain)
    }
}
