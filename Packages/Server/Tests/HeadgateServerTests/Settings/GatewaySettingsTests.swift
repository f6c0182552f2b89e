import HeadgateCore
import Testing

@testable import HeadgateServer

@Suite("Gateways in settings")
struct GatewaySettingsTests {
    private func read(_ gateway: String) throws -> SettingsReading {
        try SettingsReading.of(#"{"dispatchers": {"f": {"kind": "file", "path": "f"}}, "gateway": \#(gateway)}"#)
    }

    @Test("A7: all settings of a gateway are read")
    func all() throws {
        let reading = try read(
            #"""
            {"allow_bypass": false, "rules": {"*": {"board": "auth", "option": "unique", "scope": "global",
             "timeout_ms": 5, "on_timeout": "pass", "sticky_ms": 6}, "pub*": "exempt", "x": null}}
            """#)
        var barrier = ActivationBarrier(board: "auth")
        barrier.option = .unique
        barrier.scope = .global
        barrier.timeout = .milliseconds(5)
        barrier.onTimeout = .pass
        barrier.sticky = .milliseconds(6)
        let (all, exempt) = (try #require(GatewayPattern("*")), try #require(GatewayPattern("pub*")))
        #expect(reading.findings.lines == [])
        #expect(
            reading.settings?.gateways
                == GatewayRules([all: .barrier(barrier), exempt: .exempt], allowsBypass: false))
    }

    @Test("A7: by default there is no gateway, and the default gateway allows a bypass")
    func defaults() throws {
        #expect(try read("{}").settings?.gateways == GatewayRules())
        #expect(GatewayRules().allowsBypass)
    }

    @Test(
        "S2: faults of a gateway are reported with their paths",
        arguments: [
            (#"{"rules": {"a*b": "exempt"}}"#, "rules.a*b: must be named by a board, or by a prefix and *"),
            (#"{"rules": {"a": "free"}}"#, #"rules.a: must be "exempt", or an object with a board"#),
            (#"{"rules": {"a": {}}}"#, "rules.a.board: is required"),
            (#"{"rules": {"a": {"board": "b*"}}}"#, "rules.a.board: must have 1 to 128 bytes"),
            (#"{"rules": {"a": {"board": "b", "option": "x"}}}"#, "rules.a.option: must be one of: void, unique, each"),
            (#"{"rules": {"a": {"board": "b", "scope": "x"}}}"#, "rules.a.scope: must be one of: main, global"),
            (#"{"rules": {"a": {"board": "b", "timeout_ms": 0}}}"#, "rules.a.timeout_ms: must be a whole number"),
            (#"{"allow_bypass": 1}"#, "allow_bypass: must be true or false"),
            (
                #"{"rules": {"*": {"board": "auth"}, "auth": {"board": "login"}}}"#,
                "rules: the gateways wait for each other in a circle: auth, login, auth"
            ),
        ])
    func faults(gateway: String, line: String) throws {
        let reading = try read(gateway)
        #expect(reading.findings.lines.count == 1)
        #expect(reading.findings.lines.first?.hasPrefix("gateway." + line) == true, "\(reading.findings.lines)")
        #expect(reading.settings == nil)
    }

    @Test("S2: an unknown key in a gateway is a fault")
    func unknown() throws {
        let reading = try read(#"{"rules": {"a": {"board": "b", "tiemout_ms": 1}}, "rule": {}}"#)
        #expect(
            reading.findings.lines == [
                "gateway.rules.a.tiemout_ms: unknown key; the closest known key is `timeout_ms`",
                "gateway.rule: unknown key; the closest known key is `rules`",
            ])
    }

    // MARK: Dispatchers

    @Test("A9: a dispatcher's activation barrier and the board outputs that its headers use are read")
    func dispatcher() throws {
        let reading = try SettingsReading.ofDispatcher(
            #"""
            "kind": "http", "endpoint": "x", "activation_barrier": {"board": "login", "sticky_ms": 5},
            "headers": {"Authorization": {"output": "token", "prefix": "Bearer "}, "X": {"output": "tenant"}}
            """#)
        #expect(reading.findings.lines == [])
        var barrier = DispatcherActivation(board: "login", sticky: .milliseconds(5))
        barrier.outputs = ["token", "tenant"]
        #expect(reading.settings?.dispatchers.first?.common.activationBarrier == barrier)
    }

    @Test(
        "S2: faults of a dispatcher's activation barrier are reported with their paths",
        arguments: [
            (#""activation_barrier": {}"#, "activation_barrier.board: is required"),
            (#""activation_barrier": "login""#, "activation_barrier: must be an object"),
            (#""activation_barrier": {"board": "a*"}"#, "activation_barrier.board: must have 1 to 128 bytes"),
            (#""activation_barrier": {"board": "a", "sticky_ms": 0}"#, "activation_barrier.sticky_ms: must be"),
            (#""headers": {"X": {"output": "a"}}"#, "headers: use a board's output, so an"),
            (
                #""activation_barrier": {"board": "a"}, "headers": {"X": {"output": ""}}"#,
                "headers.X.output: must be the name of a member of the board's output"
            ),
            (
                #""activation_barrier": {"board": "a"}, "headers": {"X": {"output": "a", "prefix": "\n"}}"#,
                "headers.X.prefix: must be without line ends"
            ),
        ])
    func dispatcherFaults(entry: String, line: String) throws {
        let reading = try SettingsReading.ofDispatcher(#""kind": "http", "endpoint": "x", \#(entry)"#)
        #expect(reading.findings.lines.count == 1)
        #expect(
            reading.findings.lines.first?.hasPrefix("dispatchers.d." + line) == true, "\(reading.findings.lines)")
    }
}
