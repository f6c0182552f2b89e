import CKafka
import HeadgateWire
import Testing

@testable import HeadgateCore
@testable import HeadgateServer

@Suite("Answers of Kafka")
struct KafkaAnswerTests {
    private func settings(_ onUnauthorized: KafkaSettings.OnUnauthorized = .retry) -> KafkaSettings {
        var settings = KafkaSettings(brokers: [], topic: "t")
        settings.onUnauthorized = onUnauthorized
        return settings
    }

    private func again(_ cause: String, charged: Bool = false) -> EventOutcome {
        .retry(cause: cause, charged: charged)
    }

    @Test("D3, K6: what all replicas have is delivered, and the producer stays")
    func delivered() {
        let answer = KafkaAnswer(RD_KAFKA_RESP_ERR_NO_ERROR)
        #expect(answer.outcome == .delivered && !answer.isInDoubt)
    }

    @Test("D9, K6: what no other event would fare better with goes again and charges nothing; the producer begins anew")
    func configuration() {
        for (error, cause) in [
            (RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, "Kafka: the topic does not exist"),
            (RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, "Kafka: the topic does not exist"),
            (RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, "Kafka: not allowed to write to the topic"),
            (RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, "Kafka: too few replicas are in sync"),
            (RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, "Kafka: the partition has no leader"),
            (RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, "Kafka: the brokers are not ready"),
            (RD_KAFKA_RESP_ERR__TRANSPORT, "connection lost"), (RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, "timed out"),
            (RD_KAFKA_RESP_ERR__AUTHENTICATION, "Kafka: authentication failed"),
            (RD_KAFKA_RESP_ERR__FATAL, "Kafka: the producer has to begin anew"),
            (RD_KAFKA_RESP_ERR__BAD_MSG, "Kafka: _BAD_MSG"),
        ] {
            let answer = KafkaAnswer(error)
            #expect(answer.outcome == again(cause))
            #expect(answer.isInDoubt)
        }
    }

    @Test("D9, K6: what time ran out for is told by what was wrong with the connections, if that is known")
    func trouble() {
        for error in [RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, RD_KAFKA_RESP_ERR__PURGE_QUEUE] {
            #expect(KafkaAnswer(error, trouble: "TLS: x").outcome == again("TLS: x"))
        }
        #expect(KafkaAnswer(RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, trouble: "x").outcome != again("x"))
    }

    @Test("D3, K6: other refusals of a broker's go again and are charged; a record that it will never take is dead")
    func refused() {
        #expect(
            KafkaAnswer(RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION).outcome == again("Kafka: TOPIC_EXCEPTION", charged: true))
        let large = EventOutcome.dead(.tooLarge, cause: "Kafka: larger than the topic's max.message.bytes")
        #expect(KafkaAnswer(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE).outcome == large)
        let odd = KafkaAnswer(RD_KAFKA_RESP_ERR_INVALID_RECORD)
        #expect(odd.outcome == .dead(.refused, cause: "Kafka: the topic refuses such an event") && !odd.isInDoubt)
    }

    @Test("D6, K6: a refusal of several at once halves the batch; where some were stored only the rest goes again")
    func judgedTogether() {
        let large = KafkaAnswer(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE).outcome
        let lost = again("connection lost")
        let halve = SendResult.refused(
            SendResult.Refusal(.tooLarge, cause: "Kafka: larger than the topic's max.message.bytes", isCharged: false))
        #expect(settings().judge(.each([large, large])) == halve)
        #expect(settings().judge(.each([large, lost])) == halve)
        let rest = again("Kafka: larger than the topic's max.message.bytes")
        #expect(settings().judge(.each([.delivered, large, lost])) == .each([.delivered, rest, lost]))
        #expect(settings().judge(.each([large])) == .each([large]))
        #expect(settings().judge(.each([.delivered, lost])) == .each([.delivered, lost]))
    }

    @Test("D7, K6: on_unauthorized holds the dispatcher where brokers do not let it write, and for nothing else")
    func notAllowed() {
        for cause in ["Kafka: authentication failed", "Kafka: not allowed to write to the topic"] {
            let held = SendResult.refused(SendResult.Refusal(.notAllowed, cause: cause, isCharged: false))
            #expect(settings(.pause).judge(.noAnswer(cause: cause)) == held)
            #expect(settings(.retry).judge(.noAnswer(cause: cause)) == .noAnswer(cause: cause))
        }
        #expect(settings(.pause).judge(.noAnswer(cause: "timed out")) == .noAnswer(cause: "timed out"))
    }

    @Test("X4, K6: what librdkafka says of connections is told in fixed words")
    func connections() {
        for (text, cause) in [
            ("SSL routines::certificate verify failed s3cret", "TLS: certificate not trusted"),
            ("SSL routines::tlsv13 alert certificate required s3cret", "TLS: client certificate refused"),
            ("SSL routines::tlsv1 alert unknown ca s3cret", "TLS: client certificate refused"),
            ("SSL routines::sslv3 alert handshake failure s3cret", "TLS: handshake failed"),
            ("SSL routines::wrong version number s3cret", "TLS: handshake failed"),
        ] {
            // It may come as either.
            for error in [RD_KAFKA_RESP_ERR__SSL, RD_KAFKA_RESP_ERR__TRANSPORT] {
                let trouble = KafkaTrouble(error, text)
                #expect(trouble.cause == cause && trouble.isTelling && trouble.isFinal)
            }
        }
        let down = KafkaTrouble(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, "s3cret")
        #expect(down.cause == "Kafka: no broker could be reached" && down.isFinal && !down.isTelling)
        for text in ["s3cret", "SSL routines::unexpected eof while reading s3cret"] {
            let one = KafkaTrouble(RD_KAFKA_RESP_ERR__TRANSPORT, text)
            #expect(one.cause == "Kafka: no broker could be reached" && !one.isFinal && !one.isTelling)
        }
        let denied = KafkaTrouble(RD_KAFKA_RESP_ERR__AUTHENTICATION, "s3cret")
        #expect(denied.cause == "Kafka: authentication failed" && denied.isFinal && denied.isTelling)
    }

    @Test("K6: an event's key, however it is spelled, is the message's; id, name and time are its headers")
    func message() {
        func message(_ json: String) -> KafkaMessage {
            Array(json.utf8).withUnsafeBytes { KafkaMessage(id: "i", json: $0, JSONScanner()) }
        }
        let whole = message(#"{"id":"i","event":"a\n","time":"2026","key":"\u0061é"}"#)
        #expect(whole.key == Array("aé".utf8))
        #expect(whole.headers == [.init("id", "i"), .init("event", "a\n"), .init("time", "2026")])
        #expect(message(#"{"event":"x","key":7}"#) == message(#"{"event":"x"}"#))
        #expect(message("{") == message("{}"))
    }
}
