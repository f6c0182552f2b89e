import CKafka
import HeadgateCore

/// Why events cannot be produced now.
struct KafkaFault: Error, Equatable {
    /// In a few words for people, free of secrets.
    let cause: String
}

extension KafkaSettings {
    /// What librdkafka is told, but for the password.
    var properties: [(name: String, value: String)] {
        let timeout = max(1, timeout.wholeMilliseconds)
        return [
            ("bootstrap.servers", brokers.map(\.text).joined(separator: ",")),
            ("client.id", "headgate"),
            // A message is acknowledged when all replicas in sync have it, and a repetition on the way is none for the
            // brokers: a partition's order stays as it was produced.
            ("enable.idempotence", "true"),
            ("acks", "all"),
            // What a broker refuses leaves a gap, behind which nothing of its partition is stored.
            ("enable.gapless.guarantee", "true"),
            // Messages outlive a time-out: the producer alone can repeat them so that brokers know them again.
            ("message.timeout.ms", "0"),
            ("request.timeout.ms", "30000"),
            // Before the time is over, so that it is told.
            ("topic.metadata.propagation.max.ms", "\(min(timeout / 2, 5_000))"),
            ("socket.connection.setup.timeout.ms", "\(min(max(1_000, connectTimeout.wholeMilliseconds), 0x7FFF_FFFF))"),
            ("socket.keepalive.enable", "true"),
            // The broker says what is too large, not librdkafka.
            ("message.max.bytes", "1000000000"),
            // No more than may be in flight is handed over, and what was left of others that were dropped meanwhile.
            ("queue.buffering.max.messages", "\(2 * max(1, mostEvents))"),
            ("linger.ms", "1"),
            // As Kafka's own producers choose partitions, so that a key's events meet those of others.
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
            // Without a file of its own the key stands beside the certificate.
            ("ssl.key.location", tls.keyFile ?? tls.certFile),
        ]
        return [("ssl.endpoint.identification.algorithm", "https")]
            + files.compactMap { name, file in file.map { (name, $0) } }
    }

    /// Makes a producer, which begins to connect.
    /// - Parameter reports: gets its events; it has to live as long as the producer.
    func makeProducer(_ reports: KafkaReports) throws(KafkaFault) -> OpaquePointer {
        try requireTLSFiles()
        let all = properties + (try password())
        // Where librdkafka makes no producer of a configuration that is listened to, nothing may free that any more. So one is
        // made first that is not, and knows no brokers: it shows whether the files can be used.
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
        // Librdkafka's own lines hold what brokers say.
        rd_kafka_conf_set_log_cb(configuration) { _, _, _, _ in }
        var text = [CChar](repeating: 0, count: 512)
        for (name, value) in properties {
            guard rd_kafka_conf_set(configuration, name, value, &text, text.count) == RD_KAFKA_CONF_OK else {
                rd_kafka_conf_destroy(configuration)
                // Without the value: it may be a secret.
                throw KafkaFault(cause: "Kafka: librdkafka does not take \(name)")
            }
        }
        return configuration
    }

    /// - Parameter free: called when there is no producer.
    private static func producer(of configuration: OpaquePointer?, else free: () -> Void) throws(KafkaFault)
        -> OpaquePointer
    {
        var text = [CChar](repeating: 0, count: 512)
        if let producer = rd_kafka_new(RD_KAFKA_PRODUCER, configuration, &text, text.count) { return producer }
        free()
        let reason = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        throw KafkaSettings.fault(saying: String(decoding: reason, as: UTF8.self))
    }

    /// What librdkafka says when it makes no producer, in fixed words.
    private static func fault(saying text: String) -> KafkaFault {
        if text.contains("ssl.ca.") { return KafkaFault(cause: "TLS: CA file not usable") }
        if text.contains("ssl.") { return KafkaFault(cause: "TLS: client certificate or key not usable") }
        return KafkaFault(cause: "Kafka: the producer could not be made")
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

    /// A pipe, say, would hold librdkafka up for ever.
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
