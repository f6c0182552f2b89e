/// A certificate authority of a test's own, with a server's certificate and a client's, made by `openssl`.
struct Certificates {
    private let folder: String

    /// Makes all of them in a folder.
    init(in folder: String) async throws {
        self.folder = folder
        let authority = ["-keyout", path("ca.key"), "-out", authority, "-subj", "/CN=Authority of a test"]
        try await make(authority)
        try await make("server", subject: "localhost", ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
        try await make("client", subject: "till-7", [])
    }

    var authority: String { path("ca.pem") }
    func certificate(of name: String) -> String { path(name + ".pem") }
    func key(of name: String) -> String { path(name + ".key") }

    private func make(_ name: String, subject: String, _ more: [String]) async throws {
        let signer = ["-CA", authority, "-CAkey", path("ca.key")]
        let files = ["-keyout", key(of: name), "-out", certificate(of: name)]
        try await make(signer + files + ["-subj", "/CN=\(subject)", "-addext", "basicConstraints=CA:FALSE"] + more)
    }

    private func make(_ options: [String]) async throws {
        let kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        try await CommandLineTool.run(program: "/usr/bin/openssl", kind + options, in: folder)
    }

    private func path(_ name: String) -> String { folder + "/" + name }
}
