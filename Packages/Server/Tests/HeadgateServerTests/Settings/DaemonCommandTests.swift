import Testing

@testable import HeadgateServer

@Suite("The daemon's command line")
struct DaemonCommandTests {
    @Test(
        "Each command of headgated is read with its options",
        arguments: [
            ([], .run(DaemonOptions())),
            (
                ["--config", "c", "--socket", "s", "--data", "d"],
                .run(DaemonOptions(configuration: "c", socket: "s", dataDirectory: "d"))
            ),
            (["--data=d=e", "--check"], .check(DaemonOptions(dataDirectory: "d=e"))),
            (["--check", "--config=c"], .check(DaemonOptions(configuration: "c"))),
            (["--help"], .help),
            (["--config", "c", "-h"], .help),
            (["--version"], .version),
        ] as [([String], DaemonCommand)])
    func commands(arguments: [String], command: DaemonCommand) throws {
        #expect(try DaemonCommand.parse(arguments) == command)
    }

    @Test(
        "Unknown arguments and options of headgated are reported",
        arguments: [
            (["--config"], "--config needs a value"),
            (["--socket="], "--socket needs a value"),
            (["--data", "a", "--data", "b"], "--data is given twice"),
            (["--check=yes"], "--check takes no value"),
            (["--port", "1"], "unknown argument: --port"),
            (["headgate.json"], "unknown argument: headgate.json"),
            ([""], "unknown argument: "),
        ])
    func faults(arguments: [String], message: String) {
        #expect(throws: DaemonCommand.UsageFault(message: message)) { try DaemonCommand.parse(arguments) }
    }

    @Test("The usage text of headgated names every option")
    func usage() {
        for option in ["--config", "--socket", "--data", "--check", "--help", "--version"] {
            #expect(DaemonCommand.usage.contains(option))
        }
    }
}
