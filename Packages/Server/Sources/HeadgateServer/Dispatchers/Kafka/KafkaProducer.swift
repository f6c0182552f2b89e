import CKafka
import HeadgateCore
import HeadgateTransport
import HeadgateWire

extension MessageSender {
    /// Librdkafka ends a batch at its time, and knows why; only if it does not is this the end.
    private static let grace = Duration.seconds(5)

    /// One that produces by librdkafka.
    convenience init(_ settings: KafkaSettings, on scheduler: any Scheduler) throws(TransportError) {
        try self.init(timeout: settings.timeout + Self.grace, on: scheduler, judge: settings.judge) {
            link throws(TransportError) in
            try PublisherThread(KafkaProducer(settings, link: link), named: "headgate-kafka")
        }
    }
}

/// Produces by librdkafka, which tells what comes of it on a thread of its own. A producer is made when it is first needed, and
/// anew when something went wrong that was not an event's fault.
// Unchecked: the sender hands it to its thread, and all is called there alone.
private final class KafkaProducer: MessagePublisher, @unchecked Sendable {
    private let settings: KafkaSettings
    private let link: MessageLink
    private let scanner = JSONScanner(maxDepth: JSONScanner.greatestDepth)
    private var producer: OpaquePointer?
    /// What it reports to; here as long as it is.
    private var reports: KafkaReports?
    private var lastMessage: MessageFlights.Message = 0

    init(_ settings: KafkaSettings, link: MessageLink) {
        (self.settings, self.link) = (settings, link)
    }

    /// Hands the events of a flight over, one message each; the link hears what comes of them.
    func publish(_ flight: Int) {
        guard let batch = link.batch(of: flight) else { return }
        do throws(KafkaFault) {
            let (producer, reports) = try ready()
            for index in batch.events.indices {
                guard produce(index, of: batch, as: flight, producer) else { return }
            }
            reports.handedOver(to: producer)
        } catch {
            link.end(flight, cause: error.cause)
        }
    }

    /// Lets go of the producer and of what it has. Another can be made.
    func close() {
        guard let producer else { return }
        // Nobody waits for it: what is not stored by now is not told.
        rd_kafka_purge(producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
        rd_kafka_destroy(producer)
        (self.producer, reports) = (nil, nil)
    }

    private func ready() throws(KafkaFault) -> (OpaquePointer, KafkaReports) {
        if let producer, let reports, link.isReady { return (producer, reports) }
        close()
        let reports = KafkaReports(link)
        let producer = try settings.makeProducer(reports)
        reports.begin(producer)
        (self.producer, self.reports, link.isReady) = (producer, reports, true)
        return (producer, reports)
    }

    /// - Returns: false when the flight is over, and the rest need not go.
    private func produce(_ index: Int, of batch: Batch, as flight: Int, _ producer: OpaquePointer) -> Bool {
        lastMessage += 1
        guard link.send(lastMessage, index, of: flight) else { return false }
        let event = batch.events[index]
        let error = batch.body.withUnsafeBytes { body in
            let json = UnsafeRawBufferPointer(rebasing: body[event.range])
            return produce(KafkaMessage(id: event.plainId, json: json, scanner), json, producer)
        }
        if error != RD_KAFKA_RESP_ERR_NO_ERROR { link.answer(lastMessage, KafkaAnswer(error)) }
        return true
    }

    private func produce(
        _ message: KafkaMessage, _ json: UnsafeRawBufferPointer, _ producer: OpaquePointer
    ) -> rd_kafka_resp_err_t {
        let headers = rd_kafka_headers_new(message.headers.count)
        for header in message.headers {
            rd_kafka_header_add(headers, header.name, -1, header.value, header.value.count)
        }
        // A number in the place of a pointer. Nobody reads what it would point to.
        let opaque = UnsafeMutableRawPointer(bitPattern: lastMessage)
        let error = headgate_kafka_produce(
            producer, settings.topic, message.key, message.key?.count ?? 0, json.baseAddress, json.count, headers,
            opaque)
        if error != RD_KAFKA_RESP_ERR_NO_ERROR { rd_kafka_headers_destroy(headers) }
        return error
    }
}
