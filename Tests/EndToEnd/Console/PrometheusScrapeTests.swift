import Foundation
import Testing

/// A real Prometheus that scrapes a daemon's console.
@Suite struct PrometheusScrapeTests {
    @Test("O1, O3: Prometheus scrapes /metrics, and then has the daemon's counters")
    func scrapes() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(["dispatchers": ["collect": ["kind": "file", "path": "e"]]])
            _ = try await daemon.track(1...3)
            let console = scene.console(showing: daemon)
            try await console.start()
            let prometheus = try Prometheus(in: scene.directory.path("prometheus"), scraping: console.authority)
            defer { prometheus.end() }
            let up = try await prometheus.value(of: "up")
            #expect(up == "1")
            #expect(try await prometheus.value(of: "headgate_received_total") == "3")
            #expect(try await prometheus.value(of: #"headgate_dispatcher_open{dispatcher="collect"}"#) == "1")
            // Prometheus reads the buckets as a histogram and can compute a quantile.
            let slow = "histogram_quantile(0.9, headgate_acknowledge_seconds_bucket)"
            #expect(try await Double(prometheus.value(of: slow)).map { $0 > 0 } == true)
        }
    }
}

/// A Prometheus server that scrapes one target every second, with its data in a folder.
private final class Prometheus {
    private let process: ChildProcess
    /// A port that no other test can take. Prometheus does not report a port that it has chosen itself.
    private let reserved: ReservedPort
    private var port: UInt16 { reserved.number }

    init(in folder: String, scraping target: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let configuration = """
            global: {scrape_interval: 1s, scrape_timeout: 1s}
            scrape_configs: [{job_name: headgate, static_configs: [{targets: ["\(target)"]}]}]
            """
        try configuration.write(toFile: folder + "/prometheus.yml", atomically: true, encoding: .utf8)
        reserved = try ReservedPort()
        process = try ChildProcess(
            "/usr/bin/prometheus",
            [
                "--config.file=\(folder)/prometheus.yml", "--storage.tsdb.path=\(folder)/data",
                "--web.listen-address=127.0.0.1:\(reserved.number)",
            ], environment: ["HOME": folder], outputPath: folder + "/out", errorPath: folder + "/err")
    }

    func end() {
        process.discard()
    }

    /// Returns the value of an expression as soon as there is one.
    func value(of expression: String) async throws -> String {
        let query = expression.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? expression
        return try await eventually("a value of \(expression)") {
            guard process.isRunning else { throw NeverHappened("Prometheus", details: process.errorOutput) }
            // Prometheus may not listen yet.
            guard let connection = try? await ConsoleConnection(port: port) else { return nil }
            defer { connection.close() }
            try await connection.send("GET", "/api/v1/query?query=\(query)", ["Host": "127.0.0.1:\(port)"])
            let answer = try await connection.everything()
            return answer.firstMatch(of: /"value":\[[0-9.]+,"([^"]*)"\]/).map { String($0.output.1) }
        }
    }
}
