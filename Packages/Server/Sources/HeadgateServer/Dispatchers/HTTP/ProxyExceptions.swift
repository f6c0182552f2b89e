import Glibc

/// The hosts that are reached without a proxy.
enum ProxyExceptions {
    /// Those of the environment, and always this machine itself. In libcurl's form.
    static var ofEnvironment: String {
        let given = environment("no_proxy") ?? environment("NO_PROXY")
        return [given, "localhost,127.0.0.0/8,::1"].compactMap { $0 }.joined(separator: ",")
    }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}
