import Foundation

/// Debian's nginx as a child process with its own configuration, ports and folder. It checks the daemon's requests with
/// an independent HTTP implementation.
///
/// Every listener has the same paths: `/events` accepts everything, through a proxy to a Unix socket; `/small` accepts
/// bodies up to 900 bytes; `/busy` asks for a wait of ten minutes; `/maintained` asks for a wait of a second while the
/// file `down` exists; `/moved` redirects to `/events`; `/refused` answers 400, `/locked` 401, `/taken` 200 and
/// `/silent` 204, all without reading the body; `/behind` is a proxy to a collector; `/kept` stores bodies in files.
final class Nginx {
    let certificates: Certificates
    private let folder: String
    private let plain: Collector
    private let tls: Collector
    private let http2: Collector
    private let process: ChildProcess

    /// Starts nginx and waits until it listens.
    /// - Parameter behind: The collector behind the path `/behind`.
    init(_ scene: Scene, behind: Collector) async throws {
        folder = scene.directory.path("nginx")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        certificates = try await Certificates(in: folder)
        // These sockets never listen: each reserves a port for nginx.
        plain = try scene.collector(listening: false)
        tls = try scene.collector(listening: false)
        http2 = try scene.collector(listening: false)
        let configuration = NginxConfiguration(
            folder: folder, certificates: certificates, plainPort: plain.port, tlsPort: tls.port,
            http2Port: http2.port, behind: behind.port)
        let path = folder + "/nginx.conf"
        try configuration.text.write(toFile: path, atomically: true, encoding: .utf8)
        process = try ChildProcess(
            "/usr/sbin/nginx", ["-c", path, "-e", folder + "/error.log", "-p", folder],
            outputPath: folder + "/out", errorPath: folder + "/err")
        try await waitUntilReady()
    }

    func discard() { process.discard() }

    // MARK: Addresses

    /// Returns the URL of a path without TLS.
    func endpoint(_ path: String) -> JSON { "http://127.0.0.1:\(plain.port)\(path)" }
    /// Returns the URL of a path with TLS for clients with a certificate of the test authority, without HTTP/2.
    func tlsEndpoint(_ path: String) -> JSON { "https://localhost:\(tls.port)\(path)" }
    /// Returns the URL of a path with TLS and HTTP/2.
    func http2Endpoint(_ path: String) -> JSON { "https://localhost:\(http2.port)\(path)" }
    /// A Unix socket without TLS.
    var socket: JSON { .string(folder + "/front.sock") }

    /// Settings of a dispatcher that presents the client's certificate.
    var clientTLS: JSON {
        [
            "ca_file": .string(certificates.authority), "cert_file": .string(certificates.certificate(of: "client")),
            "key_file": .string(certificates.key(of: "client")),
        ]
    }

    /// Sets whether `/maintained` is down.
    func setDown(_ isDown: Bool) throws {
        let path = folder + "/down"
        if isDown { try "".write(toFile: path, atomically: true, encoding: .utf8) }
        if !isDown { try FileManager.default.removeItem(atPath: path) }
    }

    // MARK: Received requests

    /// All requests so far, in the order in which they ended.
    var answered: [AccessLogEntry] {
        let log = FileManager.default.contents(atPath: folder + "/access.log") ?? Data()
        // An incomplete last line is read the next time.
        return log.split(separator: UInt8(ascii: "\n")).compactMap {
            try? JSONDecoder().decode(AccessLogEntry.self, from: $0)
        }
    }

    /// Waits until `count` requests were answered.
    @discardableResult
    func answered(atLeast count: Int) async throws -> [AccessLogEntry] {
        try await eventually("\(count) requests at nginx") { answered.count >= count ? answered : nil }
    }

    /// Waits until requests with a total of `count` events were answered.
    func answered(events count: Int) async throws -> [AccessLogEntry] {
        try await eventually("requests with \(count) events at nginx") {
            let requests = answered
            return requests.flatMap(\.ids).count >= count ? requests : nil
        }
    }

    private func waitUntilReady() async throws {
        let (process, path) = (process, folder + "/nginx.pid")
        try await eventually("a ready nginx") {
            guard process.isRunning else { throw NeverHappened("a ready nginx", details: process.errorOutput) }
            // The file is written when nginx listens on all ports.
            return FileManager.default.contents(atPath: path)?.isEmpty == false
        }
    }
}

/// A request as nginx logged it after the answer.
struct AccessLogEntry: Decodable {
    let connection: String
    /// The protocol in the request line, for example `HTTP/2.0`.
    let protocolName: String
    let status: Int
    let path: String
    let contentEncoding: String
    /// The subject of the client's certificate; empty without a certificate.
    let clientName: String
    let idempotencyKey: String
    /// The file with the body, if the path stores bodies.
    let bodyFile: String
    let body: String

    /// The ids of the events in the body.
    var ids: [String] { ((try? JSON(parsing: body)) ?? .null).elements.compactMap { $0["id"].string } }
}

/// Runs a test in a scene with nginx. The collector is the one behind `/behind`; it does not listen yet.
func withNginx(_ test: (Scene, Nginx, Collector) async throws -> Void) async throws {
    try await withScene { scene in
        let collector = try scene.collector(listening: false)
        let nginx = try await Nginx(scene, behind: collector)
        defer { nginx.discard() }
        try await test(scene, nginx, collector)
    }
}
