import CNATS
import HeadgateCore
import HeadgateTransport

extension MessageSender {
    /// Makes a sender that publishes with libnats.
    convenience init(_ settings: NATSSettings, on scheduler: any Scheduler) throws(TransportError) {
        try self.init(timeout: settings.timeout, on: scheduler) { link throws(TransportError) in
            try PublisherThread(NATSConnection(settings, link: link), named: "headgate-nats")
        }
    }
}

/// A connection to a NATS cluster, made at its first use. libnats reconnects when it is lost, and this object makes
/// another when libnats has closed it. All calls of libnats that may block are made here, on the sender's thread.
// Unchecked: the sender passes this object to its thread, and only that thread calls it.
final class NATSConnection: MessagePublisher, @unchecked Sendable {
    private let settings: NATSSettings
    private let link: MessageLink
    /// The link's number in the present connection.
    private var number: UInt = 0
    private var connection: OpaquePointer?
    private var jetStream: OpaquePointer?

    init(_ settings: NATSSettings, link: MessageLink) {
        self.settings = settings
        self.link = link
    }

    /// Publishes the events of a flight, one message each. The link gets their outcomes.
    func publish(_ flight: Int) {
        guard let batch = link.batch(of: flight) else { return }
        do throws(NATSFault) {
            let jetStream = try readyJetStream()
            while let index = link.nextEvent(of: flight) {
                guard try publish(index, of: batch, as: flight, jetStream) else { return }
            }
        } catch {
            link.end(flight, cause: error.cause)
        }
    }

    /// Closes the connection. Another can be made after this.
    func close() {
        MessageLinks.remove(number)
        jsCtx_Destroy(jetStream)
        natsConnection_Destroy(connection)
        (number, jetStream, connection) = (0, nil, nil)
    }

    // MARK: One event

    /// Publishes one event.
    /// - Returns: false if the flight has ended, so that its other events must not be published.
    private func publish(
        _ index: Int, of batch: Batch, as flight: Int, _ jetStream: OpaquePointer
    ) throws(NATSFault) -> Bool {
        var message = try message(batch.events[index], of: batch)
        // libnats owns the message once it has accepted it, and then clears the variable.
        defer { natsMsg_Destroy(message) }
        let place = UInt(bitPattern: message)
        guard link.send(place, index, of: flight) else { return false }
        var options = jsPubOptions()
        try NATSFault.check(jsPubOptions_Init(&options))
        options.MaxWait = max(1, settings.timeout.wholeMilliseconds)
        let status = js_PublishMsgAsync(jetStream, &message, &options)
        if status != NATS_OK { link.answer(place, NATSAnswer(failure: status)) }
        return true
    }

    private func message(_ event: Batch.Event, of batch: Batch) throws(NATSFault) -> OpaquePointer? {
        var message: OpaquePointer?
        let status = batch.body[event.range].withUnsafeBytes { bytes in
            // Events are limited by the longest line of the socket, which is far below the greatest `Int32`.
            let count = Int32(clamping: bytes.count)
            return natsMsg_Create(&message, settings.subject, nil, bytes.baseAddress, count)
        }
        try NATSFault.check(status)
        do throws(NATSFault) {
            let id = settings.messageID.text(of: event, in: batch)
            try NATSFault.check(natsMsgHeader_Set(message, "Nats-Msg-Id", id))
            guard let stream = settings.stream else { return message }
            try NATSFault.check(natsMsgHeader_Set(message, "Nats-Expected-Stream", stream))
            return message
        } catch {
            natsMsg_Destroy(message)
            throw error
        }
    }

    // MARK: Connecting

    private func readyJetStream() throws(NATSFault) -> OpaquePointer {
        if natsConnection_IsClosed(connection) { close() }
        if connection == nil { try connect() }
        guard let connection, let jetStream else { throw NATSFault("NATS: not connected") }
        guard natsConnection_Status(connection) == NATS_CONN_STATUS_CONNECTED else { throw lastFault }
        if let name = settings.stream, !link.isReady {
            try NATSStream(name, settings, jetStream).prepare()
            link.isReady = true
        }
        return jetStream
    }

    /// The reason why libnats has not reconnected yet.
    private var lastFault: NATSFault {
        var text: UnsafePointer<CChar>?
        switch natsConnection_GetLastError(connection, &text) {
        case NATS_CONNECTION_AUTH_FAILED: return NATSFault(NATS_CONNECTION_AUTH_FAILED.cause)
        case NATS_SSL_ERROR: return NATSFault("TLS: handshake failed")
        default: return NATSFault(NATS_NO_SERVER.cause)
        }
    }

    private func connect() throws(NATSFault) {
        guard NATSLibrary.isOpen else { throw NATSFault("NATS: the library libnats could not be initialized") }
        number = MessageLinks.add(link)
        do throws(NATSFault) {
            let closure = MessageLinks.closure(of: number)
            let options = try NATSOptions(settings, closure: closure)
            let status = natsConnection_Connect(&connection, options.raw)
            try NATSFault.check(status, else: connectCause(status))
            try openJetStream(closure)
        } catch {
            close()
            throw error
        }
    }

    /// Returns the cause of a failed connect. For an unusable credentials file libnats returns only a general error.
    private func connectCause(_ status: natsStatus) -> String {
        status == NATS_ERR && settings.credentialsFile != nil ? "NATS: credentials file not usable" : status.cause
    }

    private func openJetStream(_ closure: UnsafeMutableRawPointer?) throws(NATSFault) {
        var options = jsOptions()
        try NATSFault.check(jsOptions_Init(&options))
        options.PublishAsync.AckHandler = Self.onAcknowledgement
        options.PublishAsync.AckHandlerClosure = closure
        try NATSFault.check(natsConnection_JetStream(&jetStream, connection, &options))
    }

    private static let onAcknowledgement: jsPubAckHandler = { _, message, acknowledgement, error, closure in
        // The message is destroyed last: until then no other message can have its address.
        defer { natsMsg_Destroy(message) }
        guard let link = MessageLinks.link(closure) else { return }
        let place = UInt(bitPattern: message)
        if let acknowledgement {
            return link.answer(place, acknowledgement.pointee.Duplicate ? .duplicate : .stored)
        }
        link.answer(place, error.map { NATSAnswer($0.pointee) } ?? NATSAnswer(failure: NATS_ERR))
    }
}

/// The stream that receives a dispatcher's events.
private struct NATSStream {
    private let name: String
    private let settings: NATSSettings
    private let jetStream: OpaquePointer

    init(_ name: String, _ settings: NATSSettings, _ jetStream: OpaquePointer) {
        self.name = name
        self.settings = settings
        self.jetStream = jetStream
    }

    /// Checks that the stream exists, and creates it if the settings allow it (Behaviour K4). An existing stream is not
    /// changed.
    func prepare() throws(NATSFault) {
        var info: UnsafeMutablePointer<jsStreamInfo>?
        var code = jsErrCode(0)
        let status = js_GetStreamInfo(&info, jetStream, name, nil, &code)
        defer { jsStreamInfo_Destroy(info) }
        if let config = info?.pointee.Config, config.pointee.NoAck {
            throw NATSFault("NATS: the stream sends no acknowledgements")
        }
        guard status != NATS_OK else { return }
        let isMissing = status == NATS_NOT_FOUND || code == JSStreamNotFoundErr
        guard isMissing, settings.createStream else { throw Self.fault(status, code, isMissing: isMissing) }
        try create()
    }

    private func create() throws(NATSFault) {
        var config = jsStreamConfig()
        try NATSFault.check(jsStreamConfig_Init(&config))
        config.Storage = js_FileStorage
        config.Duplicates = Self.duplicateWindow
        var code = jsErrCode(0)
        let status = name.withCString { name in
            settings.subject.withCString { subject in
                var subjects: UnsafePointer<CChar>? = subject
                return withUnsafeMutablePointer(to: &subjects) { subjects in
                    (config.Name, config.Subjects, config.SubjectsLen) = (name, subjects, 1)
                    return js_AddStream(nil, jetStream, &config, nil, &code)
                }
            }
        }
        // Another machine may have created it first.
        guard status != NATS_OK, code != JSStreamNameExistErr else { return }
        throw Self.fault(status, code, isMissing: false)
    }

    private static func fault(_ status: natsStatus, _ code: jsErrCode, isMissing: Bool) -> NATSFault {
        if isMissing { return NATSFault(JSStreamNotFoundErr.cause) }
        // Without JetStream there are no responders.
        if status == NATS_NO_RESPONDERS { return NATSFault(JSNotEnabledErr.cause) }
        return NATSFault(code.rawValue == 0 ? status.cause : code.cause)
    }

    /// The time for which the stream recognises an event's ID, in nanoseconds: an hour.
    private static let duplicateWindow: Int64 = 3600 * 1_000_000_000
}
