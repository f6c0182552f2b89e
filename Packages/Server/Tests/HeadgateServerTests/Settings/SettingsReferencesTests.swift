import Testing

@testable import HeadgateServer

@Suite("What settings refer to")
struct SettingsReferencesTests {
    private func settings() throws -> Settings {
        let reading = try SettingsReading.ofDispatcher(
            #"""
            "kind": "http", "endpoint": "x", "tls": {"ca_file": "/ca", "cert_file": "/cert", "key_file": "/key"},
            "headers": {"A": "text", "B": {"file": "/b"}, "C": {"env": "C"}}
            """#)
        return try #require(reading.settings)
    }

    @Test("K1: files and variables that are not there are warned of")
    func missing() throws {
        let warnings = SettingsReferences.warnings(about: try settings(), environment: [:]) { _ in false }
        #expect(
            warnings.map(\.description) == [
                "dispatchers.d.tls.ca_file: the file cannot be read",
                "dispatchers.d.tls.cert_file: the file cannot be read",
                "dispatchers.d.tls.key_file: the file cannot be read",
                "dispatchers.d.headers.B.file: the file cannot be read",
                "dispatchers.d.headers.C.env: the environment variable is not set",
            ])
    }

    @Test("What is there is not")
    func present() throws {
        #expect(SettingsReferences.warnings(about: try settings(), environment: ["C": ""]) { _ in true } == [])
        #expect(SettingsReferences.isReadable("/dev/null"))
        #expect(!SettingsReferences.isReadable("/nowhere/at/all"))
    }
}
