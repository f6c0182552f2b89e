import Foundation
import Testing

/// O3: other users of the machine keep the console's connections busy, and cannot lock out users who have signed in.
@Suite struct ConsoleCrowdTests {
    /// The console accepts this number of connections (`HTTPServer.mostConnections`).
    private static let most = 1_200

    @Test(
        "O3: 1 200 connections with half a request do not lock out a user with a session, and single bytes extend nothing"
    )
    func crowd() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemon(["dispatchers": ["collect": scene.collector().dispatcher()]])
            let console = scene.console(showing: daemon)
            try await console.start()
            let cookie = try await signIn(to: console)
            let page = try await ConsoleConnection(port: console.port)
            try await page.send("GET", "/live?page=/", ["Cookie": cookie, "Host": console.authority])
            try await page.until("the first state") { $0.contains("event: region") }

            try raiseDescriptorLimit()
            var crowd: [ConsoleConnection] = []
            for _ in 1...Self.most + 300 {
                let connection = try await ConsoleConnection(port: console.port)
                try await connection.send(text: "GET / HT")
                crowd.append(connection)
            }
            for _ in 1...20 {
                let answer = try await console.ask("GET", "/", ["Cookie": cookie])
                #expect(answer.status == 200)
            }
            // The open page is spared, although it is the oldest connection.
            page.forget()
            try await daemon.pause("collect", ["reason": "crowded"])
            try await page.until("the change") { $0.contains("crowded") }

            // One byte at a time does not keep a connection.
            let slow = try await ConsoleConnection(port: console.port)
            try await slow.send(text: "GET /")
            try await eventually("the end of a slow request") {
                guard !slow.hasEnded else { return true }
                try? await slow.send(text: "a")
                return slow.hasEnded
            }
            try await eventually("the end of the other connections") { crowd.allSatisfy(\.hasEnded) }
            #expect(try await console.ask("GET", "/", ["Cookie": cookie]).status == 200)
        }
    }

    private func signIn(to console: ConsoleProcess) async throws -> String {
        let answer = try await console.ask("GET", "/?token=\(console.token)")
        return try #require(answer.header("Set-Cookie")?.components(separatedBy: ";").first)
    }

    /// Raises the limit of the test process, which also needs a descriptor for each connection.
    private func raiseDescriptorLimit() throws {
        var limit = rlimit()
        _ = try SystemError.check(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit), "getrlimit")
        limit.rlim_cur = limit.rlim_max
        _ = try SystemError.check(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit), "setrlimit")
    }
}
