import Foundation

/// Debian's nginx as a child of the test, with a configuration, ports and folder of its own: so that what the daemon sends is
/// judged by somebody else's idea of HTTP.
///
/// Every listener has the same places: `/events` takes all, through a proxy to a Unix socket; `/small` takes bodies up to
/// 900 bytes; `/busy` asks to wait for ten minutes; `/maintained` asks to wait for a second while the file `down` exists;
/// `/moved` redirects to `/events`; `/behind` is a proxy to a collector; `/kept` keeps bodies in files.
final class Nginx {
    let certificates: Certificates
    private let folder: String
    private let plain: Collector
    private let tls: Collector
    private let http2: Collector
    private let process: ChildProcess

    /// Starts it and waits until it listens.
    /// - Parameter behind: The collector that `/behind` leads to.
    init(_ scene: Scene, behind: Collector) async throws {
        folder = scene.directory.path("nginx")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        certificates = try await Certificates(in: folder)
        // These sockets never listen: each keeps a free port for nginx.
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

    // MARK: Where it is

    /// Without TLS.
    func endpoint(_ place: String) -> JSON { "http://127.0.0.1:\(plain.port)\(place)" }
    /// The place with TLS, for clients that show a certificate of its authority; no HTTP/2.
    func tlsEndpoint(_ place: String) -> JSON { "https://localhost:\(tls.port)\(place)" }
    /// The same, and HTTP/2 as well.
    func http2Endpoint(_ place: String) -> JSON { "https://localhost:\(http2.port)\(place)" }
    /// Without TLS, on a Unix socket.
    var socket: JSON { .string(folder + "/front.sock") }

    /// Settings of a dispatcher that shows the client's certificate.
    var clientTLS: JSON {
        [
            "ca_file": .string(certificates.authority), "cert_file": .string(certificates.certificate(of: "client")),
            "key_file": .string(certificates.key(of: "client")),
        ]
    }

    /// Whether `/maintained` is down.
    func setDown(_ isDown: Bool) throws {
        let path = folder + "/down"
        if isDown { try "".write(toFile: path, atomically: true, encoding: .utf8) }
        if !isDown { try FileManager.default.removeItem(atPath: path) }
    }

    // MARK: What it received

    /// All requests so far, in the order of their ends.
    var answered: [AccessLogEntry] {
        let log = FileManager.default.contents(atPath: folder + "/access.log") ?? Data()
        // A last line that is only half there is left for the next time.
        return log.split(separator: UInt8(ascii: "\n")).compactMap {
            try? JSONDecoder().decode(AccessLogEntry.self, from: $0)
        }
    }

    /// Waits until so many requests have been answered.
    @discardableResult
    func answered(atLeast count: Int) async throws -> [AccessLogEntry] {
        try await eventually("\(count) requests at nginx") { answered.count >= count ? answered : nil }
    }

    /// Waits until requests with so many events among them have been answered.
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
            // Written once it listens everywhere.
            return FileManager.default.contents(atPath: path)?.isEmpty == false
        }
    }
}

/// A request as nginx wrote it down when it had answered.
struct AccessLogEntry: Decodable {
    let connection: String
    /// As in the request line, `HTTP/2.0` for instance.
    let protocolName: String
    let status: Int
    let path: String
    let contentEncoding: String
    /// The subject of the client's certificate; empty without one.
    let clientName: String
    let idempotencyKey: String
    /// The file in which the body was kept, where the place does so.
    let bodyFile: String
    let body: String

    /// The ids of the body's events.
    var ids: [String] { ((try? JSON(parsing: body)) ?? .null).elements.compactMap { $0["id"].string } }
}

/// Runs a test in a scene with nginx. The collector is the one that nginx's `/behind` leads to; it does not listen yet.
func withNginx(_ test: (Scene, Nginx, Collector) async throws -> Void) async throws {
    try await withScene { scene in
        let collector = try scene.collector(listening: false)
        let nginx = try await Nginx(scene, behind: collector)
        defer { nginx.discard() }
        try await test(scene, nginx, collector)
    }
}
