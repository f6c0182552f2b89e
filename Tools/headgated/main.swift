import Glibc
import HeadgateServer

let environment = Environment.current

switch Result(catching: { () throws(DaemonCommand.UsageFault) in try DaemonCommand.parse(Array(CommandLine.arguments.dropFirst())) }) {
case .failure(let fault):
    Terminal.error("headgated: \(fault.message)\n\n\(DaemonCommand.usage)")
    exit(2)
case .success(.help): Terminal.print(DaemonCommand.usage)
case .success(.version): Terminal.print("headgated \(Version.current)")
case .success(.check(let options)): exit(Check(options: options, environment: environment).run())
case .success(.run(let options)): exit(Daemon(options: options, environment: environment).run())
}
