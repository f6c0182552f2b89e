import CNATS

/// The stream that has to take a dispatcher's events.
struct NATSStream {
    private let name: String
    private let settings: NATSSettings
    private let jetStream: OpaquePointer

    init(_ name: String, _ settings: NATSSettings, _ jetStream: OpaquePointer) {
        self.name = name
        self.settings = settings
        self.jetStream = jetStream
    }

    /// Looks whether the stream is there, and makes it if it may (Behaviour K4). One that is there is left as it is.
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
        // Another host may have been quicker.
        guard status != NATS_OK, code != JSStreamNameExistErr else { return }
        throw Self.fault(status, code, isMissing: false)
    }

    private static func fault(_ status: natsStatus, _ code: jsErrCode, isMissing: Bool) -> NATSFault {
        if isMissing { return NATSFault(JSStreamNotFoundErr.cause) }
        // Nobody listens where JetStream would.
        if status == NATS_NO_RESPONDERS { return NATSFault(JSNotEnabledErr.cause) }
        return NATSFault(code.rawValue == 0 ? status.cause : code.cause)
    }

    /// For how long the stream knows an event's id again, in nanoseconds: an hour.
    private static let duplicateWindow: Int64 = 3600 * 1_000_000_000
}
