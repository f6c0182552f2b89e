import Testing

@testable import HeadgateServer

@Suite("Headers in settings")
struct HeaderSettingsTests {
    @Test(
        "K1: a header with an invalid name, value or source is refused",
        arguments: [
            (#""X": "a\r\nHost: b""#, "X: must be without line ends and other control characters"),
            (#""X": "a\u0000""#, "X: must be without line ends and other control characters"),
            (#""X": 1"#, #"X: must be a string, {"file": path}, {"env": name} or {"output": name}"#),
            (#""X": ["a"]"#, #"X: must be a string, {"file": path}, {"env": name} or {"output": name}"#),
            (#""X": {}"#, #"X: must be a string, {"file": path}, {"env": name} or {"output": name}"#),
            (
                #""X": {"file": "a", "env": "b"}"#,
                #"X: must be a string, {"file": path}, {"env": name} or {"output": name}"#
            ),
            (#""X": {"env": "a=b"}"#, "X.env: must be the name of an environment variable"),
            (#""X": "a", "x": "b""#, "x: appears twice"),
            (#""content-length": "0""#, "content-length: is set by the dispatcher itself"),
            (
                #""a b": "c""#,
                "a b: must be a header's name: letters, digits, and none of the separators of HTTP"
            ),
        ])
    func faults(headers: String, line: String) throws {
        let reading = try SettingsReading.ofDispatcher(#""kind": "http", "endpoint": "x", "headers": {\#(headers)}"#)
        #expect(reading.findings.lines == ["dispatchers.d.headers." + line])
        #expect(reading.settings == nil)
    }

    @Test("A header's text may contain tabs and letters of any script")
    func text() throws {
        let reading = try SettingsReading.ofDispatcher(
            #""kind": "http", "endpoint": "x", "headers": {"X": "a\tä", "Y": null}"#)
        guard let http = reading.settings?.dispatchers.first?.kind.settings as? HTTPDispatcherSettings else {
            Issue.record("no http dispatcher: \(reading.findings.lines)")
            return
        }
        #expect(http.http.headers == [HTTPSettings.Header(name: "X", value: .text("a\tä"))])
    }

    @Test("S2: a prefix is put before a value from a file or an environment variable, too")
    func prefixes() throws {
        let reading = try SettingsReading.ofDispatcher(
            #"""
            "kind": "http", "endpoint": "x",
            "headers": {"A": {"file": "/f", "prefix": "Bearer "}, "B": {"env": "PATH", "prefix": "Key "}}
            """#)
        let http = try #require(reading.settings?.dispatchers.first?.kind.settings as? HTTPDispatcherSettings)
        #expect(
            http.http.headers.map(\.value) == [.file("/f", prefix: "Bearer "), .environment("PATH", prefix: "Key ")])
        let headers = try ResolvedHeaders(
            [HTTPSettings.Header(name: "X", value: .file("/f", prefix: "Key="))], output: [:],
            files: ["/f": Array("hunter2\n".utf8)])
        #expect(headers.fields.first?.value == "Key=hunter2")
        #expect(headers.secrets.contains("hunter2"))
    }

    @Test("X4: the message of a fault never contains the faulty value")
    func silence() throws {
        let reading = try SettingsReading.ofDispatcher(
            #"""
            "kind": "http", "endpoint": "ftp://user:hunter2@host", "method": "hunter2",
            "headers": {"Authorization": "hunter2\n", "X": {"env": "hunter2="}}, "unix_socket": "hunter2\u0000"
            """#)
        #expect(reading.faults.count == 5)
        #expect(!reading.findings.lines.contains { $0.contains("hunter2") })
    }
}
