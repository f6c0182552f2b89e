import CNATS
import Glibc
import HeadgateCore
import HeadgateData
import HeadgateTransport

/// How libnats is to connect.
final class NATSOptions {
    /// libnats's side of it.
    private(set) var raw: OpaquePointer?

    /// - Parameter closure: What libnats hands to the callbacks.
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
        // For ever: a dispatcher never gives its destination up.
        try NATSFault.check(natsOptions_SetMaxReconnect(raw, -1))
        try NATSFault.check(natsOptions_SetReconnectJitter(raw, Self.reconnectJitter, Self.reconnectJitter))
        // As good as none: what is published while there is no connection stays in the queue, where it is safe.
        try NATSFault.check(natsOptions_SetReconnectBufSize(raw, 1))
        try NATSFault.check(natsOptions_SetPingInterval(raw, Self.pingInterval))
    }

    private func setCredentials(_ file: String?) throws(NATSFault) {
        guard let file else { return }
        try requireFile(file, else: "NATS: credentials file not readable")
        try NATSFault.check(natsOptions_SetUserCredentialsFromFiles(raw, file, nil))
    }

    private func setTLS(_ settings: NATSSettings) throws(NATSFault) {
        let isSecure = settings.tls != nil || settings.servers.contains(where: \.isSecure)
        guard isSecure else { return }
        try NATSFault.check(natsOptions_SetSecure(raw, true))
        // A pipe, say, would hold libnats up for ever.
        if let file = settings.tls?.caFile {
            try requireFile(file, else: "TLS: CA file not usable")
            try NATSFault.check(natsOptions_LoadCATrustedCertificates(raw, file), else: "TLS: CA file not usable")
        }
        if let file = settings.tls?.certFile {
            for file in [file, settings.tls?.keyFile].compactMap(\.self) {
                try requireFile(file, else: "TLS: client certificate or key not usable")
            }
            // Without a file of its own the key stands beside the certificate.
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
        MessageLinks.link(closure)?.endSent(cause: NATS_CONNECTION_DISCONNECTED.cause)
    }

    /// A server refuses a subject in words of its own, and sends no acknowledgement.
    private static let onError: natsErrHandler = { _, _, status, closure in
        guard status == NATS_NOT_PERMITTED else { return }
        MessageLinks.link(closure)?.endSent(cause: status.cause)
    }

    /// So that hosts which lost one cluster do not all come back at once; in milliseconds.
    private static let reconnectJitter: Int64 = 1000
    /// How soon a connection that died without a word is found out: after two or three of these; in milliseconds.
    private static let pingInterval: Int64 = 20_000
}

/// libnats as a whole, of which a process has one.
enum NATSLibrary {
    /// Opens it, once; false when it has no threads to be had. It turns the signal for broken pipes off for the whole
    /// process, which here is for the program to say.
    static let isOpen: Bool = {
        let former = signal(SIGPIPE, SIG_IGN)
        let status = nats_Open(-1)
        signal(SIGPIPE, former)
        ProcessSignals.ignoreWriteSignals()
        return status == NATS_OK
    }()
}
