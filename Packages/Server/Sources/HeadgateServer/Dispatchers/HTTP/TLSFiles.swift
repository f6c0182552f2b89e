/// What the files of a dispatcher's `tls` hold, in PEM. libcurl gets the bytes: it would read files on the loop, and wait for
/// whatever they lie on.
struct TLSFiles {
    /// Whom to trust; nil: the system's authorities.
    private(set) var authorities: [UInt8]?
    /// What to show a server that asks for it.
    private(set) var certificate: [UInt8]?
    /// The certificate's key; nil: it stands beside it.
    private(set) var key: [UInt8]?

    /// None: those of the system count.
    init() {}

    /// - Parameter contents: what could be read.
    init(_ settings: HTTPSettings.TLS, _ contents: RequestFiles.Contents) throws(Fault) {
        authorities = try settings.caFile.map { path throws(Fault) in try TLSFiles.bytes(path, contents, .authorities) }
        certificate = try settings.certFile.map { path throws(Fault) in try TLSFiles.bytes(path, contents, .certificate)
        }
        key = try settings.keyFile.map { path throws(Fault) in try TLSFiles.bytes(path, contents, .certificate) }
    }

    /// Which of the files cannot be used.
    enum Fault: Error {
        case authorities
        case certificate

        /// For people.
        var cause: String {
            switch self {
            case .authorities: "TLS: CA file not usable"
            case .certificate: "TLS: client certificate or key not usable"
            }
        }
    }

    private static func bytes(
        _ path: String, _ contents: RequestFiles.Contents, _ fault: Fault
    ) throws(Fault) -> [UInt8] {
        guard let bytes = contents[path], !bytes.isEmpty else { throw fault }
        return bytes
    }
}
