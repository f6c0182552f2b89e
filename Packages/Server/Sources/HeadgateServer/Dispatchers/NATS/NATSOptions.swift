import CNATS
import Glibc
import HeadgateCore
import HeadgateData
import HeadgateTransport

/// The options of a connection of libnats.
final class NATSOptions {
    /// libnats's options object.
    private(set) var raw: OpaquePointer?

    /// Creates the options that the settings of a dispatcher require.
    /// - Parameter closure: the value that libnats passes to the callbacks.
    init(_ settings: NATSSettings, closure: UnsafeMutableRawPointer?) throws(NATSFault) {
        try NATSFault.check(natsOptions_Create(&raw))
        try setServers(settings)
        try setCredentials(settings.credentialsFile)
        try setTLS(settings)
        try setCallbacks(closure)
    }

    deinit {
        natsOptions_Destroy(raw)
    }

    private func setServers(_ settings: NATSSettings) throws(NATSFault) {
        var servers: [UnsafePointer<CChar>?] = settings.servers.map { UnsafePointer<CChar>(strdup($0.decodedText)) }
        defer { for server in servers { free(UnsafeMutablePointer(mutating: server)) } }
        try NATSFault.check(natsOptions_SetServers(raw, &servers, Int32(servers.count)))
        try NATSFault.check(natsOptions_SetName(raw, "headgate/\(Version.current)"))
        try NATSFault.check(natsOptions_SetTimeout(raw, max(1, settings.connectTimeout.wholeMilliseconds)))
        try NATSFault.check(natsOptions_SetWriteDeadline(raw, max(1, settings.timeout.wholeMilliseconds)))
        // -1 reconnects for ever: a dispatcher never stops trying.
        try NATSFault.check(natsOptions_SetMaxReconnect(raw, -1))
        try NATSFault.check(natsOptions_SetReconnectJitter(raw, Self.reconnectJitter, Self.reconnectJitter))
        // The smallest buffer: without a connection events stay in the queue, where they are safe.
        try NATSFault.check(natsOptions_SetReconnectBufSize(raw, 1))
        try NATSFault.check(natsOptions_SetPingInterval(raw, Self.pingInterval))
    }

    private func setCredentials(_ file: String?) throws(NATSFault) {
        guard let file else { return }
        try requireFile(file, else: "NATS: credentials file not readable")
        try NATSFault.check(natsOptions_SetUserCredentialsFromFiles(raw, file, nil))
    }

    private func setTLS(_ settings: NATSSettings) throws(NATSFault) {
        guard settings.usesTLS else { return }
        try NATSFault.check(natsOptions_SetSecure(raw, true))
        // A pipe, for example, would block libnats for ever.
        if let file = settings.tls?.caFile {
            try requireFile(file, else: "TLS: CA file not usable")
            try NATSFault.check(natsOptions_LoadCATrustedCertificates(raw, file), else: "TLS: CA file not usable")
        }
        if let file = settings.tls?.certFile {
            for file in [file, settings.tls?.keyFile].compactMap(\.self) {
                try requireFile(file, else: "TLS: client certificate or key not usable")
            }
            // Without a key file the certificate's file contains the key.
            let status = natsOptions_LoadCertificatesChain(raw, file, settings.tls?.keyFile ?? file)
            try NATSFault.check(status, else: "TLS: client certificate or key not usable")
        }
    }

    private func requireFile(_ path: String, else cause: String) throws(NATSFault) {
        guard SmallFile(path).contents(upTo: RequestFiles.longest) != nil else { throw NATSFault(cause) }
    }

    private func setCallbacks(_ closure: UnsafeMutableRawPointer?) throws(NATSFault) {
        try NATSFault.check(natsOptions_SetDisconnectedCB(raw, Self.onLoss, closure))
        try NATSFault.check(natsOptions_SetClosedCB(raw, Self.onLoss, closure))
        try NATSFault.check(natsOptions_SetErrorHandler(raw, Self.onError, closure))
    }

    private static let onLoss: natsConnectionHandler = { _, closure in
        NATSReports.reports(closure)?.link.endSent(cause: NATS_CONNECTION_DISCONNECTED.cause)
    }

    /// Ends the batches in flight if a server refuses a subject, because no acknowledgement follows. The server's text
    /// varies.
    private static let onError: natsErrHandler = { _, _, status, closure in
        guard status == NATS_NOT_PERMITTED else { return }
        NATSReports.reports(closure)?.link.endSent(cause: status.cause)
    }

    /// The longest random delay of a reconnect, in milliseconds. It spreads the reconnects of machines that lost one
    /// cluster.
    private static let reconnectJitter: Int64 = 1000
    /// The interval of pings, in milliseconds. A connection that died silently is noticed after two or three.
    private static let pingInterval: Int64 = 20_000
}

/// The libnats library, which the whole process shares.
enum NATSLibrary {
    /// True if the library is open; false if it can start no threads. The first read opens it. Opening changes the
    /// process's handling of SIGPIPE, which is restored here.
    static let isOpen: Bool = {
        let former = signal(SIGPIPE, SIG_IGN)
        let status = nats_Open(-1)
        signal(SIGPIPE, former)
        ProcessSignals.ignoreWriteSignals()
        return status == NATS_OK
    }()
}
