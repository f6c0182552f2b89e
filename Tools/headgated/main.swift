import Glibc
import HeadgateData
import HeadgateServer
import HeadgateTransport

ProcessSignals.prepare(holding: [SIGHUP])

let environment = Environment.current

do throws(DaemonCommand.UsageFault) {
    switch try DaemonCommand.parse(Array(CommandLine.arguments.dropFirst())) {
    case .help: Terminal.print(DaemonCommand.usage)
    case .version: Terminal.print(Version.line(of: "headgated", builtFrom: builtFrom))
    case .check(let options): exit(Check(options: options, environment: environment).run())
    case .verify(let directory, let options):
        exit(Verification(directory: directory, options: options, environment: environment).run())
    case .run(let options):
        ProcessMemory.economize()
        exit(Daemon(options: options, environment: environment).run())
    }
} catch {
    Terminal.error("headgated: \(error.message)\n\n\(DaemonCommand.usage)")
    exit(2)
}
