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

    @Test("D3, K6: an event whose message all replicas have stored is delivered")
    func delivered() {
        #expect(KafkaAnswer(RD_KAFKA_RESP_ERR_NO_ERROR).report == .stored)
    }

    @Test("D9, K6: a broker's error that does not depend on the event is an outage")
    func outages() {
        for (error, cause) in [
            (RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, "Kafka: the topic does not exist"),
            (RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, "Kafka: the topic does not exist"),
            (RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, "Kafka: not allowed to write to the topic"),
            (RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, "Kafka: too few replicas are in sync"),
            (RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, "Kafka: the partition has no leader"),
            (RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, "Kafka: the brokers are not ready"),
            (RD_KAFKA_RESP_ERR__TRANSPORT, "connection lost"), (RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, "timed out"),
            (RD_KAFKA_RESP_ERR__AUTHENTICATION, "Kafka: authentication failed"),
            (RD_KAFKA_RESP_ERR_PRODUCER_FENCED, "Kafka: the producer has to be recreated"),
            (RD_KAFKA_RESP_ERR__BAD_MSG, "Kafka: no Kafka broker answers at this address"),
            (RD_KAFKA_RESP_ERR_UNSUPPORTED_COMPRESSION_TYPE, "Kafka: the brokers do not support this compression"),
            (RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT, "Kafka: the brokers' version is not supported"),
            (RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION, "Kafka: the brokers' version is not supported"),
            (RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS, "Kafka: the topic's configuration does not allow the request"),
            (RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION, "Kafka: the topic's name is not valid"),
            (RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS, "Kafka: REBALANCE_IN_PROGRESS"),
        ] {
            #expect(KafkaAnswer(error).report == .failed(cause: cause))
        }
        for error in [RD_KAFKA_RESP_ERR__PURGE_QUEUE, RD_KAFKA_RESP_ERR__FATAL] {
            #expect(KafkaAnswer(error).report == .failed(cause: nil))
        }
    }

    @Test("D3, D9, K6: errors about the message itself refuse the event")
    func refused() {
        let large = EventOutcome.dead(.tooLarge, cause: "Kafka: larger than the topic's max.message.bytes")
        for error in [RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE] {
            #expect(KafkaAnswer(error).report == .refused(large))
        }
        let odd = EventOutcome.dead(.refused, cause: "Kafka: the topic refuses the event")
        for error in [
            RD_KAFKA_RESP_ERR_INVALID_RECORD, RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP,
            RD_KAFKA_RESP_ERR_POLICY_VIOLATION,
        ] {
            #expect(KafkaAnswer(error).report == .refused(odd))
        }
        let damaged = EventOutcome.retry(cause: "Kafka: the broker reports the event as damaged", charged: true)
        #expect(KafkaAnswer(RD_KAFKA_RESP_ERR_INVALID_MSG).report == .refused(damaged))
    }

    @Test("D7, K6: on_unauthorized pauses the dispatcher only if brokers refuse the login or the right to write")
    func notAllowed() {
        for cause in ["Kafka: authentication failed", "Kafka: not allowed to write to the topic"] {
            let held = SendResult.refused(SendResult.Refusal(.notAllowed, cause: cause, isCharged: false))
            #expect(settings(.pause).judge(.noAnswer(cause: cause)) == held)
            #expect(settings(.retry).judge(.noAnswer(cause: cause)) == .noAnswer(cause: cause))
        }
        #expect(settings(.pause).judge(.noAnswer(cause: "timed out")) == .noAnswer(cause: "timed out"))
    }

    @Test("X4, K6: librdkafka's connection errors are reported in fixed words")
    func connections() {
        for (text, cause) in [
            ("SSL routines::certificate verify failed s3cret", "TLS: certificate not trusted"),
            ("SSL routines::tlsv13 alert certificate required s3cret", "TLS: client certificate refused"),
            ("SSL routines::tlsv1 alert unknown ca s3cret", "TLS: client certificate refused"),
            ("SSL routines::sslv3 alert handshake failure s3cret", "TLS: handshake failed"),
            ("SSL routines::wrong version number s3cret", "TLS: the broker does not use TLS"),
        ] {
            // librdkafka may report the error with either code.
            for error in [RD_KAFKA_RESP_ERR__SSL, RD_KAFKA_RESP_ERR__TRANSPORT] {
                let trouble = KafkaFailure(error, text)
                #expect(trouble.cause == cause && trouble.isSpecific && trouble.isFinal)
            }
        }
        let down = KafkaFailure(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, "s3cret")
        #expect(down.cause == "Kafka: no broker could be reached" && down.isFinal && !down.isSpecific)
        for text in ["s3cret", "SSL routines::unexpected eof while reading s3cret"] {
            let one = KafkaFailure(RD_KAFKA_RESP_ERR__TRANSPORT, text)
            #expect(one.cause == "Kafka: no broker could be reached" && !one.isFinal && !one.isSpecific)
        }
        for (error, text, cause) in [
            (
                RD_KAFKA_RESP_ERR__BAD_MSG, "Invalid response size 1213486160 s3cret",
                "Kafka: a web server answers at this address, not a broker"
            ),
            (RD_KAFKA_RESP_ERR__BAD_MSG, "Invalid response size 352518912", "Kafka: the broker seems to require TLS"),
            (
                RD_KAFKA_RESP_ERR__TRANSPORT, "incorrect security.protocol (connecting to a SSL listener?)",
                "Kafka: the broker seems to require TLS"
            ),
        ] {
            let odd = KafkaFailure(error, text)
            #expect(odd.cause == cause && odd.isSpecific && !odd.isFinal)
        }
        let denied = KafkaFailure(RD_KAFKA_RESP_ERR__AUTHENTICATION, "s3cret")
        #expect(denied.cause == "Kafka: authentication failed" && denied.isFinal && denied.isSpecific)
    }

    /// Returns the key, ID, name and time of an event's message.
    private func message(_ json: String, _ head: EventHead? = nil) -> [String?] {
        let text = { (bytes: UnsafeRawBufferPointer?) in bytes.map { String(decoding: $0, as: UTF8.self) } }
        return Array(json.utf8).withUnsafeBytes { json in
            KafkaMessage.with(json: json, head, JSONScanner()) {
                [text($0.key), text($0.id), text($0.name), text($0.time)]
            }
        }
    }

    @Test("K6: an event's key becomes the message's key, without JSON escapes; id, name and time become headers")
    func parts() {
        let whole = message(#"{"id":"i","event":"a\n","time":"2026","key":"\u0061é"}"#)
        #expect(whole == ["aé", "i", "a\n", "2026"])
        #expect(message(#"{"event":"x","key":7}"#) == [nil, nil, "x", nil])
        #expect(message("{") == [nil, nil, nil, nil])
        #expect(message(#"{"key":""}"#) == ["", nil, nil, nil])
    }

    @Test("K6: a message has the same key and headers if the byte positions of the event's members are known")
    func knownPositions() {
        for (name, key) in [("a", "k"), (#"a\n"#, "k"), ("a", #"k\n"#), ("", "")] {
            let json = #"{"id":"i","event":"\#(name)","time":"2026","key":"\#(key)"}"#
            let start = 18
            let end = start + name.utf8.count + 2
            let head = EventHead(
                id: 6..<9, name: start..<end, time: end + 8..<end + 14, key: end + 21..<end + 23 + key.utf8.count)
            #expect(message(json, head) == message(json))
        }
        let other = EventHead(id: 6..<9, name: 6..<9, time: 6..<9, key: nil)
        #expect(message(#"{"id":"i","key":"k"}"#, other) == [nil, "i", "i", "i"], "only the positions count")
        let beyond = EventHead(id: 6..<900, name: 6..<9, time: 6..<9, key: nil)
        #expect(message(#"{"id":"i"}"#, beyond) == [nil, "i", nil, nil])
    }
}
