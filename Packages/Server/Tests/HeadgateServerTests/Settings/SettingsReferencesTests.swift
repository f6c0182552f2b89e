import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("Files and variables that settings refer to")
struct SettingsReferencesTests {
    private func settings() throws -> Settings {
        let reading = try SettingsReading.ofDispatcher(
            #"""
            "kind": "http", "endpoint": "x", "tls": {"ca_file": "/ca", "cert_file": "/cert", "key_file": "/key"},
            "headers": {"A": "text", "B": {"file": "/b"}, "C": {"env": "C"}}
            """#)
        return try #require(reading.settings)
    }

    @Test("K1: missing files and environment variables cause warnings")
    func missing() throws {
        let warnings = try settings().references.compactMap { $0.warning(environment: [:]) { _ in false } }
        #expect(
            warnings.map(\.description) == [
                "dispatchers.d.tls.ca_file: the file cannot be read",
                "dispatchers.d.tls.cert_file: the file cannot be read",
                "dispatchers.d.tls.key_file: the file cannot be read",
                "dispatchers.d.headers.B.file: the file cannot be read",
                "dispatchers.d.headers.C.env: the environment variable is not set",
            ])
    }

    @Test("Existing files and environment variables cause no warning")
    func present() throws {
        #expect(try settings().references.allSatisfy { $0.warning(environment: ["C": ""]) { _ in true } == nil })
        #expect(SettingsReference.isReadable("/dev/null"))
        #expect(!SettingsReference.isReadable("/nowhere/at/all"))
    }
}
