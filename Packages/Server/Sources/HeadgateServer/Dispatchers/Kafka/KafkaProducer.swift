import CKafka
import HeadgateCore
import HeadgateTransport
import HeadgateWire

extension MessageSender {
    /// Makes a sender that produces with librdkafka.
    convenience init(_ settings: KafkaSettings, on scheduler: any Scheduler) throws(TransportError) {
        try self.init(
            timeout: settings.timeout, on: scheduler, keepsOrder: true, judge: settings.judge
        ) { ended throws(TransportError) in
            let link = KafkaLink(ended: ended)
            let publisher = try PublisherThread(KafkaProducer(settings, link: link), named: "headgate-kafka")
            link.onReady { [weak publisher] in publisher?.publish(0) }
            return (link, publisher)
        }
    }
}

/// A publisher that produces events with librdkafka, which reports outcomes on its own thread. A producer is made at
/// its first use, and again when the last one has ended and reported all its messages. A timeout does not end it.
// Unchecked: the sender passes this object to its thread, and only that thread calls it.
private final class KafkaProducer: MessagePublisher, @unchecked Sendable {
    private let settings: KafkaSettings
    private let link: KafkaLink
    private let scanner = JSONScanner(maxDepth: JSONScanner.greatestDepth)
    private var producer: OpaquePointer?
    private var topic: OpaquePointer?
    /// The receiver of the producer's reports, which lives as long as the producer.
    private var reports: KafkaReports?

    init(_ settings: KafkaSettings, link: KafkaLink) {
        (self.settings, self.link) = (settings, link)
    }

    /// Produces all events that may be produced now, one message each. The link gets their outcomes.
    func publish(_ flight: Int) {
        if link.isStuck {
            close()
            link.dropAll()
        }
        do throws(KafkaFault) {
            while link.mayProduce() {
                let topic = try ready()
                for portion in link.take(Self.mostTaken) { produce(portion, to: topic) }
            }
        } catch {
            link.failWaiting(error.cause)
        }
        if let producer { reports?.handedOver(to: producer) }
        if link.takeDoubtOfTopic() { examineTopic() }
    }

    /// Requests the topic's metadata, and records its error. librdkafka does not report such an error for messages:
    /// they wait until the topic exists and may be described.
    private func examineTopic() {
        guard let producer, let topic, let reports else { return }
        let timeLimit = min(settings.timeout.wholeMilliseconds / 2, Self.longestTimeLimit)
        var answer: UnsafePointer<rd_kafka_metadata>?
        let outcome = rd_kafka_metadata(producer, 0, topic, &answer, Int32(timeLimit))
        guard outcome == RD_KAFKA_RESP_ERR_NO_ERROR, let answer else { return }
        defer { rd_kafka_metadata_destroy(answer) }
        guard answer.pointee.topic_cnt > 0, let error = answer.pointee.topics?.pointee.err,
            error != RD_KAFKA_RESP_ERR_NO_ERROR
        else { return }
        link.note(KafkaFailure(error, ""), of: reports)
    }

    /// The longest wait for the topic's metadata, in milliseconds.
    private static let longestTimeLimit: Int64 = 1_000

    /// The most events that are taken at once. Each take costs a lock.
    private static let mostTaken = 256

    /// Destroys the producer with its messages. The next event that is produced creates another.
    func close() {
        guard let producer else { return }
        // The messages are dropped without a report, because no flight waits for them.
        rd_kafka_purge(producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
        if let topic { rd_kafka_topic_destroy(topic) }
        rd_kafka_destroy(producer)
        (self.producer, topic, reports) = (nil, nil, nil)
    }

    /// Returns the topic of a producer that takes messages. Makes the producer if needed.
    private func ready() throws(KafkaFault) -> OpaquePointer {
        if let topic, !link.needsProducer { return topic }
        close()
        let reports = KafkaReports(link)
        let producer = try settings.makeProducer(reports)
        link.producerMade(reports)
        reports.begin(producer)
        (self.producer, self.reports) = (producer, reports)
        guard let topic = rd_kafka_topic_new(producer, settings.topic, nil) else {
            close()
            throw KafkaFault(cause: "Kafka: the producer could not be created")
        }
        self.topic = topic
        return topic
    }

    private func produce(_ portion: KafkaFlights.Portion, to topic: OpaquePointer) {
        portion.batch.body.withUnsafeBytes { body in
            for index in portion.indices {
                let (range, head) = (portion.batch.events[index].range, portion.batch.events[index].head)
                let json = UnsafeRawBufferPointer(rebasing: body[range])
                let message = portion.firstMessage + UInt(index - portion.indices.lowerBound)
                let error = KafkaMessage.with(json: json, head, scanner) { produce($0, json, as: message, to: topic) }
                guard error != RD_KAFKA_RESP_ERR_NO_ERROR else { continue }
                if let producer { reports?.noteEnd(of: producer) }
                link.report([.init(messages: message...message, report: KafkaAnswer(error).report)])
            }
        }
    }

    private func produce(
        _ message: KafkaMessage, _ json: UnsafeRawBufferPointer, as number: KafkaFlights.Message,
        to topic: OpaquePointer
    ) -> rd_kafka_resp_err_t {
        let headers = rd_kafka_headers_new(3)
        message.id?.add("id", to: headers)
        message.name?.add("event", to: headers)
        message.time?.add("time", to: headers)
        // The number of the message is passed as a pointer, which is never dereferenced.
        let opaque = UnsafeMutableRawPointer(bitPattern: number)
        let error = headgate_kafka_produce(
            producer, topic, message.key?.baseAddress, message.key?.count ?? 0, json.baseAddress, json.count, headers,
            opaque)
        if error != RD_KAFKA_RESP_ERR_NO_ERROR { rd_kafka_headers_destroy(headers) }
        return error
    }
}

extension UnsafeRawBufferPointer {
    /// Adds the bytes as the value of a header.
    fileprivate func add(_ name: StaticString, to headers: OpaquePointer?) {
        rd_kafka_header_add(
            headers, UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self), name.utf8CodeUnitCount,
            baseAddress, count)
    }
}
