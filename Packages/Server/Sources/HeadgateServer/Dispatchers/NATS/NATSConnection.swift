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
    /// The number under which ``NATSReports`` has the present connection, or 0 without a connection.
    private var number: UInt = 0
    private var connection: OpaquePointer?
    private var acknowledgements: OpaquePointer?
    /// The prefix of the subjects to which the stream sends acknowledgements.
    private var inbox: [UInt8] = []
    /// The texts of the last message, each with a NUL at its end. The next message reuses their memory.
    private var (replySubject, messageID): ([UInt8], [UInt8]) = ([], [])

    init(_ settings: NATSSettings, link: MessageLink) {
        self.settings = settings
        self.link = link
    }

    /// Publishes the events of a flight, one message each. The link gets their outcomes.
    func publish(_ flight: Int) {
        guard let batch = link.batch(of: flight) else { return }
        do throws(NATSFault) {
            let connection = try readyConnection()
            var messages = link.take(Self.mostTaken, of: flight)
            while !messages.isEmpty {
                for message in messages { try publish(message, of: batch, to: connection) }
                messages = link.take(Self.mostTaken, of: flight)
            }
        } catch {
            link.end(flight, cause: error.cause)
        }
    }

    /// The most events that are taken at once. Each take costs a lock.
    private static let mostTaken = 64

    /// Closes the connection. The next event that is published opens another.
    func close() {
        NATSReports.remove(number)
        natsSubscription_Destroy(acknowledgements)
        natsConnection_Destroy(connection)
        (number, acknowledgements, connection) = (0, nil, nil)
    }

    // MARK: One event

    private func publish(
        _ message: MessageFlights.Message, of batch: Batch, to connection: OpaquePointer
    ) throws(NATSFault) {
        let raw = try make(message, of: batch)
        defer { natsMsg_Destroy(raw) }
        let status = natsConnection_PublishMsg(connection, raw)
        if status != NATS_OK { link.answer(message, NATSAnswer(failure: status)) }
    }

    private func make(_ message: MessageFlights.Message, of batch: Batch) throws(NATSFault) -> OpaquePointer? {
        let event = batch.events[message.event]
        replySubject.removeSubrange(inbox.count...)
        message.appendSubject(to: &replySubject)
        replySubject.append(0)
        messageID.removeAll(keepingCapacity: true)
        settings.messageID.append(of: event, in: batch, to: &messageID)
        messageID.append(0)
        var raw: OpaquePointer?
        // Events are limited by the longest line of the socket, which is far below the greatest `Int32`.
        let status = batch.body.withUnsafeBytes { body in
            let json = UnsafeRawBufferPointer(rebasing: body[event.range])
            return replySubject.withCString {
                natsMsg_Create(&raw, settings.subject, $0, json.baseAddress, Int32(clamping: json.count))
            }
        }
        try NATSFault.check(status)
        do throws(NATSFault) {
            try NATSFault.check(messageID.withCString { natsMsgHeader_Set(raw, "Nats-Msg-Id", $0) })
            guard let stream = settings.stream else { return raw }
            try NATSFault.check(natsMsgHeader_Set(raw, "Nats-Expected-Stream", stream))
            return raw
        } catch {
            natsMsg_Destroy(raw)
            throw error
        }
    }

    // MARK: Connecting

    private func readyConnection() throws(NATSFault) -> OpaquePointer {
        if natsConnection_IsClosed(connection) || hasTLSFault { close() }
        if connection == nil { try connect() }
        guard let connection else { throw NATSFault("NATS: not connected") }
        guard natsConnection_Status(connection) == NATS_CONN_STATUS_CONNECTED else { throw lastFault }
        if let name = settings.stream, !link.isReady {
            try NATSStream.prepare(name, settings, on: connection)
            link.isReady = true
        }
        return connection
    }

    /// The reason why libnats has not reconnected yet.
    private var lastFault: NATSFault {
        let status = lastStatus
        let isAnswer = [NATS_CONNECTION_AUTH_FAILED, NATS_SECURE_CONNECTION_WANTED].contains(status)
        return NATSFault((isAnswer ? status : NATS_NO_SERVER).cause)
    }

    /// True if TLS keeps libnats from reconnecting. libnats uses the certificates that it read at first, so that only a
    /// new connection uses renewed ones.
    private var hasTLSFault: Bool {
        guard connection != nil, natsConnection_Status(connection) != NATS_CONN_STATUS_CONNECTED else { return false }
        return [NATS_SSL_ERROR, NATS_PROTOCOL_ERROR].contains(lastStatus)
    }

    /// The status of libnats's last attempt to reconnect.
    private var lastStatus: natsStatus {
        var text: UnsafePointer<CChar>?
        return natsConnection_GetLastError(connection, &text)
    }

    private func connect() throws(NATSFault) {
        guard NATSLibrary.isOpen else { throw NATSFault("NATS: the library libnats could not be initialized") }
        number = NATSReports.add(link)
        do throws(NATSFault) {
            let closure = NATSReports.closure(of: number)
            let options = try NATSOptions(settings, closure: closure)
            let status = natsConnection_Connect(&connection, options.raw)
            try NATSFault.check(status, else: connectCause(status))
            try openInbox(closure)
        } catch {
            close()
            throw error
        }
    }

    /// Subscribes to the acknowledgements. libnats subscribes again after it has reconnected.
    private func openInbox(_ closure: UnsafeMutableRawPointer?) throws(NATSFault) {
        var name: UnsafeMutablePointer<CChar>?
        try NATSFault.check(natsInbox_Create(&name))
        defer { natsInbox_Destroy(name) }
        guard let name else { throw NATSFault(NATS_NO_MEMORY.cause) }
        let prefix = String(cString: name) + "."
        inbox = Array(prefix.utf8)
        replySubject = inbox
        let status = natsConnection_Subscribe(
            &acknowledgements, connection, prefix + ">", NATSReports.onAcknowledgement, closure)
        try NATSFault.check(status)
        // The events in flight are bounded, and so are their acknowledgements. None may be dropped.
        try NATSFault.check(natsSubscription_SetPendingLimits(acknowledgements, -1, -1))
    }

    /// Returns the cause of a failed connect.
    private func connectCause(_ status: natsStatus) -> String {
        // libnats returns only a general error for an unusable credentials file.
        if status == NATS_ERR, settings.credentialsFile != nil { return "NATS: credentials file not usable" }
        let text = nats_GetLastError(nil).map { String(cString: $0) } ?? ""
        return NATSTLSFault.cause(status, text, settings) ?? status.cause
    }
}

extension [UInt8] {
    /// Calls a closure with the bytes, which must end with a NUL.
    fileprivate func withCString<Result>(_ body: (UnsafePointer<CChar>?) -> Result) -> Result {
        withUnsafeBytes { body($0.baseAddress?.assumingMemoryBound(to: CChar.self)) }
    }
}

/// The stream that receives a dispatcher's events.
private struct NATSStream {
    private let name: String
    private let settings: NATSSettings
    private let jetStream: OpaquePointer

    private init(_ name: String, _ settings: NATSSettings, _ jetStream: OpaquePointer) {
        self.name = name
        self.settings = settings
        self.jetStream = jetStream
    }

    /// Checks that the stream exists, and creates it if the settings allow it (Behaviour K4). An existing stream is not
    /// changed.
    static func prepare(_ name: String, _ settings: NATSSettings, on connection: OpaquePointer) throws(NATSFault) {
        var jetStream: OpaquePointer?
        try NATSFault.check(natsConnection_JetStream(&jetStream, connection, nil))
        defer { jsCtx_Destroy(jetStream) }
        guard let jetStream else { throw NATSFault(NATS_NO_MEMORY.cause) }
        try NATSStream(name, settings, jetStream).prepare()
    }

    private func prepare() throws(NATSFault) {
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
