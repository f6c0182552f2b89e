import HeadgateData
import Testing

@testable import HeadgateServer

@Suite("The paths of the daemon")
struct DaemonPathsTests {
    private func find(
        _ environment: [String: String], options: DaemonOptions = DaemonOptions(), settings: DataObject = [:],
        userID: UInt32 = 1000
    ) throws -> DaemonPaths {
        try DaemonPaths.find(options: options, settings: settings, environment: environment, userID: userID)
    }

    @Test("The socket's path comes from the command line, HEADGATE_SOCKET, configuration, run-time directory or /run")
    func socket() throws {
        var environment = ["HOME": "/h", "XDG_RUNTIME_DIR": "/run/user/1000", "HEADGATE_SOCKET": "/variable"]
        let settings: DataObject = ["socket": "/file"]
        let options = DaemonOptions(socket: "/option")
        #expect(try find(environment, options: options, settings: settings).socket == "/option")
        #expect(try find(environment, settings: settings).socket == "/variable")
        environment["HEADGATE_SOCKET"] = ""
        #expect(try find(environment, settings: settings).socket == "/file")
        #expect(try find(environment).socket == "/run/user/1000/headgate/headgate.sock")
        environment["XDG_RUNTIME_DIR"] = "relative"
        #expect(try find(environment).socket == "/run/headgate/headgate.sock")
        environment["XDG_RUNTIME_DIR"] = nil
        #expect(try find(environment).socket == "/run/headgate/headgate.sock")
    }

    @Test("The data directory comes from the command line, configuration, environment, home directory or /var/lib")
    func data() throws {
        var environment = ["HOME": "/h", "XDG_STATE_HOME": "/state", "STATE_DIRECTORY": "/var/lib/one:/var/lib/two"]
        let settings: DataObject = ["data_dir": "/file"]
        let options = DaemonOptions(dataDirectory: "/option")
        #expect(try find(environment, options: options, settings: settings).dataDirectory == "/option")
        #expect(try find(environment, settings: settings).dataDirectory == "/file")
        #expect(try find(environment).dataDirectory == "/var/lib/one")
        environment["STATE_DIRECTORY"] = nil
        #expect(try find(environment).dataDirectory == "/state/headgate")
        environment["XDG_STATE_HOME"] = "relative"
        #expect(try find(environment).dataDirectory == "/h/.local/state/headgate")
        #expect(try find([:], userID: 0).dataDirectory == "/var/lib/headgate")
    }

    @Test("Without data_dir, HOME and STATE_DIRECTORY the data directory is a fault")
    func nowhere() {
        #expect(
            throws: SettingsFault(
                path: "data_dir", message: "is required if neither HOME nor STATE_DIRECTORY is set")
        ) { try find([:]) }
    }

    @Test(
        "S2: a path that cannot be a socket is a fault", arguments: ["/dev/null", "/dev", "/dev/null/s"])
    func pathIsTaken(path: String) {
        let findings = DaemonPaths(socket: path, dataDirectory: "/").findings
        #expect(findings.faults.map(\.path) == ["socket"])
    }

    @Test("S2: the directory of a socket may be missing")
    func missingDirectory() {
        #expect(DaemonPaths(socket: "/nowhere/at/all/s.sock", dataDirectory: "/").findings.faults.isEmpty)
    }
}
