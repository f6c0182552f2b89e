/// The text of `nginx.conf` for a test.
struct NginxConfiguration {
    let folder: String
    let certificates: Certificates
    let plainPort: UInt16
    let tlsPort: UInt16
    let http2Port: UInt16
    /// The local port that `/behind` leads to.
    let behind: UInt16

    /// A configuration for a single process, which ends with the test's child.
    var text: String {
        """
        daemon off;
        master_process off;
        pid \(folder)/nginx.pid;
        events { worker_connections 256; }
        http {
            log_format entries escape=json '{"connection":"$connection","protocolName":"$server_protocol",'
                '"status":$status,"path":"$uri","contentEncoding":"$http_content_encoding",'
                '"clientName":"$ssl_client_s_dn","idempotencyKey":"$http_idempotency_key",'
                '"bodyFile":"$request_body_file","body":"$request_body"}';
            access_log off;
            client_body_temp_path \(folder)/bodies;
            proxy_temp_path \(folder)/proxied;
            fastcgi_temp_path \(folder)/fastcgi;
            uwsgi_temp_path \(folder)/uwsgi;
            scgi_temp_path \(folder)/scgi;
            client_body_buffer_size 1m;
            client_body_in_single_buffer on;
            keepalive_requests 100000;
            keepalive_timeout 600;
            server {
                listen unix:\(folder)/back.sock;
                location / { return 200; }
            }
            \(server("listen 127.0.0.1:\(plainPort); listen unix:\(folder)/front.sock;"))
            \(server("listen 127.0.0.1:\(tlsPort) ssl; \(tls)"))
            \(server("listen 127.0.0.1:\(http2Port) ssl http2; \(tls)"))
        }
        """
    }

    private func server(_ listening: String) -> String {
        """
        server {
            \(listening)
            access_log \(folder)/access.log entries;
            location /events { proxy_pass http://unix:\(folder)/back.sock; }
            location /small { client_max_body_size 900; proxy_pass http://unix:\(folder)/back.sock; }
            location /busy { add_header Retry-After 600 always; return 503; }
            location /maintained {
                add_header Retry-After 1 always;
                if (-f \(folder)/down) { return 503; }
                proxy_pass http://unix:\(folder)/back.sock;
            }
            location /moved { return 301 /events; }
            location /refused { return 400; }
            location /locked { return 401; }
            location /taken { return 200; }
            location /silent { return 204; }
            location /behind { proxy_pass http://127.0.0.1:\(behind); }
            location /kept { client_body_in_file_only on; proxy_pass http://unix:\(folder)/back.sock; }
        }
        """
    }

    private var tls: String {
        """
        ssl_certificate \(certificates.certificate(of: "server"));
        ssl_certificate_key \(certificates.key(of: "server"));
        ssl_client_certificate \(certificates.authority);
        ssl_verify_client on;
        """
    }
}

/// A certificate authority for a test, with a server and a client certificate, created with `openssl`.
struct Certificates {
    private let folder: String

    /// Creates all certificates in a folder.
    init(in folder: String) async throws {
        self.folder = folder
        let authority = ["-keyout", path("ca.key"), "-out", authority, "-subj", "/CN=Authority of a test"]
        try await make(authority)
        let names = "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:127.0.0.2"
        try await make("server", subject: "localhost", ["-addext", names])
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
