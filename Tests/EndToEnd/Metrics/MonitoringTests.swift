import Foundation
import Testing

/// The packaged alert rules and dashboard, checked with a real daemon's metrics and with Prometheus' tool.
@Suite struct MonitoringTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../Docs/Examples/Monitoring").standardized.path

    private func text(of name: String) throws -> String {
        try String(contentsOfFile: Self.folder + "/" + name, encoding: .utf8)
    }

    /// Returns the queries of the dashboard, with its variables replaced.
    private func queries() throws -> [String] {
        let panels = try JSON(parsing: text(of: "dashboard.json"))["panels"].elements
        return panels.flatMap { $0["targets"].elements }.compactMap(\.["expr"].string).map { query in
            [("$__rate_interval", "5m"), ("$instance", ".*"), ("$dispatcher", ".*")].reduce(query) {
                $0.replacingOccurrences(of: $1.0, with: $1.1)
            }
        }
    }

    @Test("O1: each alert is silent normally, fires for its cause, and says what to do")
    func alerts() async throws {
        try await withScene { scene in
            for arguments in [["check", "rules", "alerts.yml"], ["test", "rules", "alerts.test.yml"]] {
                let files = arguments.last.map { Self.folder + "/" + $0 } ?? ""
                try await CommandLineTool.run(
                    program: "/usr/bin/promtool", Array(arguments.dropLast()) + [files],
                    in: scene.directory.path("."))
            }
            let alerts = try text(of: "alerts.yml").components(separatedBy: "- alert: ").dropFirst()
            let tests = try text(of: "alerts.test.yml")
            for alert in alerts {
                let name = String(alert.prefix { $0 != "\n" })
                #expect(alert.contains("summary: ") && alert.contains("description: "), "\(name)")
                #expect(tests.contains("name: \(name) rings"), "\(name)")
                #expect(tests.contains("alertname: \(name), exp_alerts: []"), "\(name)")
            }
        }
    }

    @Test(
        "O1: the dashboard's queries are valid, and the dashboard and the alerts use only existing metrics"
    )
    func names() async throws {
        try await withScene { scene in
            let queries = try queries()
            #expect(queries.count > 20)
            let rules = queries.enumerated().map { "  - {record: 'q:\($0.offset)', expr: '\($0.element)'}" }
            let file = scene.directory.path("queries.yml")
            try
                (["groups: [{name: q, rules: ["] + rules.map { $0.replacingOccurrences(of: "  - ", with: "  ") + "," }
                + ["]}]"])
                .joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
            try await CommandLineTool.run(
                program: "/usr/bin/promtool", ["check", "rules", file], in: scene.directory.path("."))

            let daemon = try await scene.daemon(sendingTo: scene.collector())
            let metrics = try await daemon.ask("metrics")["metrics"].elements
            let names = Set(
                metrics.flatMap { metric -> [String] in
                    let name = metric["name"].string ?? ""
                    return metric["type"] == "histogram" ? ["_bucket", "_sum", "_count"].map { name + $0 } : [name]
                })
            let used = try (queries + [text(of: "alerts.yml")]).flatMap { text in
                text.matches(of: /\b(headgate|process)_[a-z_]+/).map { String($0.output.0) }
            }
            #expect(used.count > 40)
            for name in Set(used) { #expect(names.contains(name), "\(name)") }
        }
    }
}
