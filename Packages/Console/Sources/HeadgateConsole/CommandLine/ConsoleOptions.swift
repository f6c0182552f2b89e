/// The options of the console's command line (Protocol, The console).
struct ConsoleOptions: Equatable, Sendable {
    /// The address on which the console listens.
    var listen = ListenAddress.default
    /// The daemon's socket, or nil for the default path.
    var socketPath: String?
    /// The file of the token, or nil to make a token for this start.
    var tokenFile: String?
    /// True if pages may make changes.
    var allowsControl = false
    /// Host names, besides the address and `localhost`, by which browsers may reach the console.
    var hosts: [String] = []
    /// A further address, for `/metrics` and `/healthz` only, or nil.
    var metricsListen: ListenAddress?
    /// The file of the token for that address, or nil for none.
    var metricsTokenFile: String?

    /// The action that a command line requests.
    enum Request: Equatable, Sendable {
        case help, version
        case run(ConsoleOptions)
    }

    /// The fault of a command line.
    struct UsageFault: Error, Equatable {
        let message: String
    }

    /// Reads the arguments after the program's name. `--name VALUE` and `--name=VALUE` mean the same.
    static func parse(_ words: [String]) throws(UsageFault) -> Request {
        if words.contains("--help") { return .help }
        if words.contains("--version") { return .version }
        var options = ConsoleOptions()
        var rest = words[...]
        while let word = rest.popFirst() {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            try options.take(parts[0], parts.count == 2 ? parts[1] : nil, &rest)
        }
        try options.check()
        return .run(options)
    }

    private func check() throws(UsageFault) {
        guard let metricsListen else {
            guard metricsTokenFile == nil else {
                throw UsageFault(message: "--metrics-token-file needs --metrics-listen")
            }
            return
        }
        guard metricsListen.isLocal || metricsTokenFile != nil else {
            throw UsageFault(
                message: "--metrics-listen: the network can reach this address; add --metrics-token-file FILE")
        }
    }

    private mutating func take(
        _ name: String, _ attached: String?, _ rest: inout ArraySlice<String>
    ) throws(UsageFault) {
        if name == "--allow-control" {
            guard attached == nil else { throw UsageFault(message: "\(name) takes no value") }
            allowsControl = true
            return
        }
        guard Self.withValue.contains(name) else {
            throw UsageFault(
                message: name.hasPrefix("-") ? "there is no option \(name)" : "unexpected argument \(name)")
        }
        guard let value = attached ?? rest.popFirst(), !value.isEmpty else {
            throw UsageFault(message: "\(name): the value is missing")
        }
        try set(name, value)
    }

    private static let withValue = [
        "--listen", "--socket", "--token-file", "--host", "--metrics-listen", "--metrics-token-file",
    ]

    private mutating func set(_ name: String, _ value: String) throws(UsageFault) {
        switch name {
        case "--listen", "--metrics-listen":
            do throws(ListenAddress.Fault) {
                if name == "--listen" {
                    listen = try ListenAddress(value)
                } else {
                    metricsListen = try ListenAddress(anywhere: value)
                }
            } catch {
                throw UsageFault(message: "\(name): \(error.message)")
            }
        case "--metrics-token-file": metricsTokenFile = value
        case "--socket": socketPath = value
        case "--token-file": tokenFile = value
        default: hosts.append(value)
        }
    }

    /// The text that `--help` prints.
    static let usage = """
        usage: headgate-console [--listen ADDRESS] [--socket PATH] [--token-file FILE] [--allow-control] [--host NAME …]
                                [--metrics-listen ADDRESS [--metrics-token-file FILE]]

        Serves a web console for the daemon, /metrics for Prometheus and /healthz, on loopback or a Unix socket.

          --listen ADDRESS   127.0.0.1:PORT, [::1]:PORT or the path of a Unix socket (default: 127.0.0.1:9477);
                             port 0 chooses a free port
          --socket PATH      the daemon's socket (default: $HEADGATE_SOCKET, then the standard paths)
          --token-file FILE  the file of the access token, created if missing; SIGHUP reads it again
                             (default: each start creates a new token)
          --allow-control    allow changes: pause, resume, retry, flush, rewind, requeue and purge
          --host NAME        an additional host name for browsers, for example behind a proxy; repeatable
          --metrics-listen ADDRESS
                             serve /metrics and /healthz at a further address, too; any address of this machine
          --metrics-token-file FILE
                             the file of a token for /metrics at that address, created if missing; required if the
                             network can reach the address
          --help, --version  print this help, or the version

        The line `headgate-console ready URL` on standard error means that the console is ready; the URL contains the
        token.
        Exit codes: 0 stopped in order, 1 failed, 2 usage error.

        """
}
