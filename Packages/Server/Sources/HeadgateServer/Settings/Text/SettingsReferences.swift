import Glibc

/// What settings refer to and do not hold: files and environment variables.
///
/// One that is missing is a warning: it may come later, a check may run without the service's environment, and the
/// events of its dispatcher are safe meanwhile.
enum SettingsReferences {
    /// Warns of what is not there.
    static func warnings(
        about settings: Settings, environment: [String: String], isReadable: (String) -> Bool = isReadable
    ) -> [SettingsFault] {
        references(of: settings).compactMap { path, target in
            switch target {
            case .file(let file) where !isReadable(file): SettingsFault(path: path, message: "the file cannot be read")
            case .variable(let name) where environment[name] == nil:
                SettingsFault(path: path, message: "the environment variable is not set")
            default: nil
            }
        }
    }

    /// Whether this process may read a file.
    static func isReadable(_ path: String) -> Bool {
        access(path, R_OK) == 0
    }

    private enum Target {
        case file(String)
        case variable(String)
    }

    private static func references(of settings: Settings) -> [(path: String, target: Target)] {
        settings.dispatchers.flatMap { dispatcher -> [(String, Target)] in
            let path = "dispatchers.\(dispatcher.id)"
            switch dispatcher.kind {
            case .http(let http):
                return references(of: http.tls, path + ".tls") + http.headers.compactMap { reference(of: $0, path) }
            case .nats(let nats): return references(of: nats, path)
            case .file, .worker, .own: return []
            }
        }
    }

    private static func references(of nats: NATSSettings, _ path: String) -> [(String, Target)] {
        let tls = nats.tls.map { references(of: $0, path + ".tls") } ?? []
        return tls + [nats.credentialsFile].compactMap { $0 }.map { (path + ".credentials_file", .file($0)) }
    }

    private static func references(of tls: HTTPSettings.TLS, _ path: String) -> [(String, Target)] {
        let files = [("ca_file", tls.caFile), ("cert_file", tls.certFile), ("key_file", tls.keyFile)]
        return files.compactMap { name, file in file.map { ("\(path).\(name)", .file($0)) } }
    }

    private static func reference(of header: HTTPSettings.Header, _ path: String) -> (String, Target)? {
        let path = "\(path).headers.\(header.name)"
        switch header.value {
        case .text, .output: return nil
        case .file(let file): return (path + ".file", .file(file))
        case .environment(let name): return (path + ".env", .variable(name))
        }
    }
}
