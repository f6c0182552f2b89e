// A Headgate server inside a program of its own, with a barrier, a load rule and a kind of transformer of its own. It takes the
// arguments of `headgated`:
//
//     EmbeddedServer --config headgate.json --socket /tmp/headgate.sock --data /tmp/headgate
//
// and its configuration file may say, beside all that headgated knows:
//
//     "barriers": {"MaintenanceBarrier": {"scopes": ["collect"], "configuration": {"file": "/tmp/maintenance"}}},
//     "dispatchers": {"collect": {…, "load_rule": {"not": "is_probe"}}},
//     "transformations": [{"id": "cards", "kind": "card_mask", "scopes": ["afterCollectors"],
//                          "configuration": {"path": "data.card"}}]

import Glibc
import HeadgateCore
import HeadgateServer
import HeadgateTransport

func serve() throws {
    guard case .run(let options) = try DaemonCommand.parse(Array(CommandLine.arguments.dropFirst())) else { return }
    let environment = ["HOME": getenv("HOME").map { String(cString: $0) } ?? ""]
    let loop = try EventLoop()
    let server = Server(on: loop)
    let socket = try server.assumeIsolated { server in
        var configuration = ServerConfiguration(options: options, environment: environment, userID: geteuid())
        configuration.addBarrier(MaintenanceBarrier.Factory())
        let isProbe = Rule.just(.startsWith(ignoreCase: true, variable: "event", target: "probe"))
        configuration.setLoadRule(isProbe, forId: "is_probe")
        configuration.addTransformerKind(CardMask.Factory())
        return try server.start(configuration)
    }
    let stop = try LoopSignal(SIGTERM, on: loop) {
        server.assumeIsolated { $0.stop { loop.stop() } }
    }
    print("EmbeddedServer ready \(socket ?? "")")
    fflush(nil)
    withExtendedLifetime(stop) { loop.run() }
}

do {
    try serve()
} catch {
    print("EmbeddedServer: \(error)")
    exit(1)
}
