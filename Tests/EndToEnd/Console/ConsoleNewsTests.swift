import Foundation
import Testing

/// Pages that update while they are open (Behaviour O3).
@Suite struct ConsoleNewsTests {
    private static let configuration: JSON = [
        "dispatchers": ["collect": ["kind": "file", "path": "events.ndjson"]], "flush_on": ["start": false],
    ]

    @Test("B10: a page shows at once that a dispatcher is blocked and opens, without a reload")
    func states() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(Self.configuration)
            let console = scene.console(showing: daemon)
            try await console.start()
            let page = try await console.news(of: "/dispatchers/collect")
            try await page.until("an open dispatcher") { $0.contains("No barrier blocks this dispatcher") }
            page.forget()
            try await daemon.pause("collect", ["reason": "<the disk>"])
            try await page.until("the reason of the pause") { $0.contains("paused: &lt;the disk&gt;") }
            page.forget()
            try await daemon.resume()
            try await page.until("an open dispatcher again") { $0.contains("No barrier blocks this dispatcher") }
        }
    }

    @Test("Open pages show that the daemon was killed and has returned, with the same stream")
    func restart() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(Self.configuration)
            let console = scene.console(showing: daemon)
            try await console.start()
            let page = try await console.news(of: "/")
            try await page.until("a page that shows a reachable daemon") { $0.contains("No problems.") }
            page.forget()
            try await daemon.killNow()
            try await page.until("a report of the outage") { $0.contains("The daemon has been unreachable since") }
            page.forget()
            try await daemon.start()
            try await page.until("the daemon is reachable again") { $0.contains("No problems.") }
            page.forget()
            try await daemon.pause()
            try await page.until("a change reported after the restart") { $0.contains("blocked") }
        }
    }

    @Test("At most 1 000 pages may be open, and another one is asked to retry later")
    func manyPages() async throws {
        try await withScene { scene in
            let console = scene.console(showing: scene.idleDaemon())
            try await console.start()
            let pages = try await Self.open(1_000, of: console)
            let last = try #require(pages.last)
            try await last.until("an update for the last page") { $0.contains("event: region") }
            let refused = try await console.get("/live?page=/")
            #expect(refused.status == 503 && refused.header("Retry-After") != nil)
            // Other requests are still served, and a place that becomes free is used again.
            #expect(try await console.get("/").status == 200)
            pages[0].close()
            try await eventually("room for another") {
                let another = try await console.news(of: "/")
                try await another.until("an answer") { $0.contains("\r\n\r\n") }
                var isLetIn = true
                try await another.until("a status") {
                    isLetIn = $0.hasPrefix("HTTP/1.1 200")
                    return true
                }
                return isLetIn
            }
        }
    }

    private static func open(_ count: Int, of console: ConsoleProcess) async throws -> [ConsoleConnection] {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        var pages: [ConsoleConnection] = []
        for _ in 0..<count {
            let page = try await console.news(of: "/")
            try await page.until("an answer") { $0.contains("HTTP/1.1 200") }
            pages.append(page)
        }
        return pages
    }

    @Test("A slow reader does not delay others, and gets the latest state when it reads")
    func slowReader() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(Self.configuration)
            let console = scene.console(showing: daemon)
            try await console.start()
            let slow = try await console.news(of: "/dispatchers/collect")
            let quick = try await console.news(of: "/dispatchers/collect")
            for round in 1...20 {
                quick.forget()
                try await daemon.pause("collect", ["reason": .string("round \(round)")])
                try await quick.until("round \(round)") { $0.contains("round \(round)") }
            }
            try await slow.until("the latest state") { $0.contains("round 20") }
        }
    }
}
