import Testing

@testable import HeadgateConsole

/// Tests the command line (Protocol, The console).
@Suite("Command line")
struct ConsoleOptionsTests {
    private func options(_ words: String...) throws -> ConsoleOptions {
        guard case .run(let options) = try ConsoleOptions.parse(words) else {
            throw ConsoleOptions.UsageFault(message: "it does not run")
        }
        return options
    }

    @Test("Without options the console listens at 127.0.0.1:9477, and allows no changes")
    func defaults() throws {
        let options = try options()
        #expect(options.listen == .ipv4([127, 0, 0, 1], port: 9_477))
        #expect(options.socketPath == nil && options.tokenFile == nil && !options.allowsControl && options.hosts == [])
    }

    @Test("A value follows its option, or an equals sign; --host may be repeated")
    func values() throws {
        let options = try options(
            "--listen", "[::1]:80", "--socket=/s=1", "--token-file", "t", "--host", "a", "--host=b", "--allow-control")
        #expect(
            options.listen == .ipv6(ListenAddress.loopback6, port: 80) && options.socketPath == "/s=1"
                && options.tokenFile == "t")
        #expect(options.hosts == ["a", "b"] && options.allowsControl)
    }

    @Test("Help and version are printed whatever else is given")
    func help() throws {
        #expect(try ConsoleOptions.parse(["--nonsense", "--help"]) == .help)
        #expect(try ConsoleOptions.parse(["--version"]) == .version)
    }

    @Test(
        "Invalid options are refused",
        arguments: [
            ["--nonsense"], ["word"], ["--listen"], ["--socket", ""], ["--allow-control=yes"], ["--token-file"],
            ["--listen", "9477"], ["--listen", "127.0.0.1"], ["--listen", "127.0.0.1:"],
            ["--listen", "127.0.0.1:65536"], ["--listen", "127.0.0.1:-1"], ["--listen", "127.0.0.1:+1"],
            ["--listen", "127.1:80"], ["--listen", "example.org:80"], ["--listen", ":80"],
            ["--listen", "127.0.0.0127:80"], ["--listen", "::1:80"],
        ])
    func refused(words: [String]) {
        #expect(throws: ConsoleOptions.UsageFault.self) { try ConsoleOptions.parse(words) }
    }

    @Test(
        "O3: an address that is not loopback is refused",
        arguments: ["0.0.0.0:9477", "10.0.0.1:80", "[::]:80", "[fe80::1]:80", "128.0.0.1:80"])
    func loopbackOnly(address: String) {
        let fault = #expect(throws: ConsoleOptions.UsageFault.self) {
            try ConsoleOptions.parse(["--listen", address])
        }
        #expect(fault?.message.contains("not a loopback") == true)
    }

    @Test("O3: metrics may be served at any address, which needs a token of its own unless it is local")
    func metrics() throws {
        let options = try options("--metrics-listen", "0.0.0.0:9478", "--metrics-token-file=t")
        #expect(options.metricsListen == .ipv4([0, 0, 0, 0], port: 9_478) && options.metricsTokenFile == "t")
        #expect(try self.options("--metrics-listen", "127.0.0.1:0").metricsListen?.isLocal == true)
        #expect(try self.options("--metrics-listen", "/m.sock").metricsListen == .path("/m.sock"))
        for words in [
            ["--metrics-listen", "0.0.0.0:1"], ["--metrics-listen", "[fe80::1]:1"], ["--metrics-token-file", "t"],
            ["--metrics-listen", "host:1", "--metrics-token-file", "t"],
        ] {
            #expect(throws: ConsoleOptions.UsageFault.self, "\(words)") { try ConsoleOptions.parse(words) }
        }
        #expect(try ListenAddress(anywhere: "[fe80::1]:80").url("/metrics") == "http://[fe80::1]:80/metrics")
    }

    @Test("All of 127/8, localhost, [::1] and any socket path count as loopback")
    func loopback() throws {
        #expect(try ListenAddress("127.9.8.7:1") == .ipv4([127, 9, 8, 7], port: 1))
        #expect(try ListenAddress("localhost:0") == .ipv4([127, 0, 0, 1], port: 0))
        #expect(try ListenAddress("[::1]:65535") == .ipv6(ListenAddress.loopback6, port: 65_535))
        #expect(try ListenAddress("./c.sock") == .path("./c.sock"))
    }

    @Test("The printed address of a page can be opened unchanged")
    func urls() throws {
        #expect(ListenAddress.default.url("/") == "http://127.0.0.1:9477/")
        #expect(ListenAddress.ipv6(ListenAddress.loopback6, port: 1).url("/a") == "http://[::1]:1/a")
        #expect(ListenAddress.path("/run/c s").url("/a") == "http+unix://%2Frun%2Fc%20s/a")
    }
}
