import CKafka
import HeadgateCore

/// The reason why events cannot be produced now.
struct KafkaFault: Error, Equatable {
    /// A short text for people, without secrets.
    let cause: String
}

extension KafkaSettings {
    /// The configuration of librdkafka, without the password.
    var properties: [(name: String, value: String)] {
        let timeout = max(1, timeout.wholeMilliseconds)
        return [
            ("bootstrap.servers", brokers.map(\.text).joined(separator: ",")),
            ("client.id", "headgate"),
            // All replicas in sync acknowledge a message, and brokers recognise a repeated one. So a partition keeps
            // the order of production.
            ("enable.idempotence", "true"),
            ("acks", "all"),
            // A refused message leaves a gap, and no message of its partition is stored behind the gap.
            ("enable.gapless.guarantee", "true"),
            // A broker accepts any sequence number from a producer that it does not know in a partition. So a set waits
            // for the answer to the set before it.
            ("max.in.flight.requests.per.connection", "1"),
            // A message outlives a timeout: only the producer can repeat it so that brokers recognise it.
            ("message.timeout.ms", "0"),
            ("request.timeout.ms", "30000"),
            // Less than the timeout, so that the error is reported before the batch times out.
            ("topic.metadata.propagation.max.ms", "\(min(timeout / 2, 5_000))"),
            ("socket.connection.setup.timeout.ms", "\(min(max(1_000, connectTimeout.wholeMilliseconds), 0x7FFF_FFFF))"),
            ("socket.keepalive.enable", "true"),
            // The broker decides which message is too large, not librdkafka.
            ("message.max.bytes", "1000000000"),
            // The producer may have the most events in flight, and as many of earlier flights that were dropped.
            ("queue.buffering.max.messages", "\(2 * max(1, mostEvents))"),
            // Half a millisecond is enough to fill a set: sets also grow while the producer waits for an answer.
            ("linger.ms", "0.5"),
            // The partitioner of Kafka's own producers, so that events of one key from any producer share a partition.
            ("partitioner", "murmur2_random"),
            ("compression.type", compression.rawValue),
            ("security.protocol", (sasl == nil ? "" : "sasl_") + (tls == nil ? "plaintext" : "ssl")),
        ] + saslProperties + tlsProperties
    }

    private var saslProperties: [(name: String, value: String)] {
        guard let sasl else { return [] }
        return [("sasl.mechanisms", sasl.mechanism.rawValue), ("sasl.username", sasl.user)]
    }

    private var tlsProperties: [(name: String, value: String)] {
        guard let tls else { return [] }
        let files = [
            ("ssl.ca.location", tls.caFile), ("ssl.certificate.location", tls.certFile),
            // Without a key file the certificate's file contains the key.
            ("ssl.key.location", tls.keyFile ?? tls.certFile),
        ]
        return [("ssl.endpoint.identification.algorithm", "https")]
            + files.compactMap { name, file in file.map { (name, $0) } }
    }

    /// Makes a producer, which starts to connect.
    /// - Parameter reports: gets the producer's events. It must live as long as the producer.
    func makeProducer(_ reports: KafkaReports) throws(KafkaFault) -> OpaquePointer {
        try requireTLSFiles()
        let all = properties + (try password())
        // If `rd_kafka_new` fails with callbacks set, the configuration can no longer be freed. So a trial producer
        // without callbacks and brokers checks first whether the files are usable.
        if tls != nil || sasl != nil {
            let trial = try configuration(all.filter { $0.name != "bootstrap.servers" })
            rd_kafka_destroy(try Self.producer(of: trial) { rd_kafka_conf_destroy(trial) })
        }
        let configuration = try configuration(all)
        reports.listen(configuration)
        return try Self.producer(of: configuration) {}
    }

    private func configuration(_ properties: [(name: String, value: String)]) throws(KafkaFault) -> OpaquePointer? {
        let configuration = rd_kafka_conf_new()
        // Log lines of librdkafka contain texts of brokers.
        rd_kafka_conf_set_log_cb(configuration) { _, _, _, _ in }
        var text = [CChar](repeating: 0, count: 512)
        for (name, value) in properties {
            guard rd_kafka_conf_set(configuration, name, value, &text, text.count) == RD_KAFKA_CONF_OK else {
                rd_kafka_conf_destroy(configuration)
                // The value is left out, because it may be a secret.
                throw KafkaFault(cause: "Kafka: librdkafka rejects the setting \(name)")
            }
        }
        return configuration
    }

    /// - Parameter free: called if no producer is made.
    private static func producer(of configuration: OpaquePointer?, else free: () -> Void) throws(KafkaFault)
        -> OpaquePointer
    {
        var text = [CChar](repeating: 0, count: 512)
        if let producer = rd_kafka_new(RD_KAFKA_PRODUCER, configuration, &text, text.count) { return producer }
        free()
        let reason = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        throw KafkaSettings.fault(saying: String(decoding: reason, as: UTF8.self))
    }

    /// Returns librdkafka's reason for making no producer, as a fixed text.
    private static func fault(saying text: String) -> KafkaFault {
        if text.contains("ssl.ca.") { return KafkaFault(cause: "TLS: CA file not usable") }
        if text.contains("ssl.") { return KafkaFault(cause: "TLS: client certificate or key not usable") }
        return KafkaFault(cause: "Kafka: could not create the producer")
    }

    private func password() throws(KafkaFault) -> [(name: String, value: String)] {
        guard let sasl else { return [] }
        guard var bytes = SmallFile(sasl.passwordFile).contents(upTo: RequestFiles.longest) else {
            throw KafkaFault(cause: "Kafka: password file not readable")
        }
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard !bytes.isEmpty, !bytes.contains(0), let password = String(validating: bytes, as: UTF8.self) else {
            throw KafkaFault(cause: "Kafka: password file not usable")
        }
        return [("sasl.password", password)]
    }

    /// Refuses a TLS file that is not a readable regular file. A pipe, for example, would block librdkafka for ever.
    private func requireTLSFiles() throws(KafkaFault) {
        for (file, cause) in [
            (tls?.caFile, "TLS: CA file not usable"), (tls?.certFile, "TLS: client certificate or key not usable"),
            (tls?.keyFile, "TLS: client certificate or key not usable"),
        ] {
            guard let file, SmallFile(file).contents(upTo: RequestFiles.longest) == nil else { continue }
            throw KafkaFault(cause: cause)
        }
    }
}
