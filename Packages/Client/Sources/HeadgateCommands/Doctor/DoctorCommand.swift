import Glibc
import HeadgateClient
import HeadgateData
import HeadgateWire

extension Command {
    private static let config = Option(
        "--config", value: "FILE",
        "the configuration to check if the daemon does not run (default: that of the package)")
    private static let sends = Option("--send", "send each collector an empty batch, and check the answer")

    /// The command `headgate doctor`.
    static let doctor = Command(
        name: "doctor",
        summary: "Check this machine and the daemon, with advice; exit 1 if there is an error.",
        options: [config, sends, .json],
        notes: """
            Checks the socket and its permissions, the daemon's warnings, configuration, dispatchers and destinations, the
            disk, the limits, the machine's memory and clock. The command also works if the daemon does not run, and changes
            nothing. With --send each collector gets one additional request without events.
            """
    ) { invocation in
        let findings = Doctor(
            invocation, file: invocation.arguments.value(config), sends: invocation.arguments.has(sends)
        )
        .examine()
        let list = findings.map { finding -> DataItem in
            .object([
                "subject": .string(finding.subject), "verdict": .string(finding.verdict.rawValue),
                "words": .string(finding.words), "advice": finding.advice.map { .string($0) } ?? .null,
            ])
        }
        let words = FindingsText(style: invocation.terminal.style)
        try invocation.show(["findings": .array(list)], else: words.text(findings))
        return findings.contains { $0.verdict == .wrong } ? .failure : .success
    }
}

/// Collects facts about the machine and the daemon. Other types judge them, by the facts alone.
private struct Doctor {
    private let invocation: Invocation
    private let file: String
    private let isFileGiven: Bool
    private let sends: Bool

    /// The path of the configuration in the package.
    private static let defaultFile = "/etc/headgate/headgate.json"
    private static let timeLimit: Int = 5_000

    init(_ invocation: Invocation, file: String?, sends: Bool) {
        self.invocation = invocation
        self.file = file ?? Doctor.defaultFile
        isFileGiven = file != nil
        self.sends = sends
    }

    func examine() -> [Finding] {
        var findings = [SocketFacts.ofMachine(invocation.socketPath).finding]
        let (answers, fault) = daemon()
        findings += fault.map { [$0] } ?? []
        findings += answers.map { DaemonCheck.findings($0.status) } ?? []
        findings += answers.flatMap(store).map { [$0] } ?? []
        findings += answers.map { EncryptionCheck.findings($0.status) } ?? []
        if let rights = try? invocation.ask([Question(method: "rights")])[0] {
            findings.append(RightsText.finding(rights))
        }
        let (settings, faults) = settings(answers?.settings)
        findings += faults
        findings += destinations(settings)
        let daemon = RunningDaemon(listeningAt: invocation.socketPath)
        return findings + MachineFacts.ofMachine(daemon, settings).findings
    }

    private func store(_ answers: (status: DataObject, settings: DataObject)) -> Finding? {
        let clients = try? invocation.ask([Question(method: "client.list")])[0]
        return StoreCheck(answers.status, settings: answers.settings, clients: clients ?? [:]).finding
    }

    /// Returns the daemon's status and settings, or the finding that it does not answer.
    private func daemon() -> (answers: (status: DataObject, settings: DataObject)?, fault: Finding?) {
        do {
            let answers = try invocation.ask([Question(method: "status"), Question(method: "config.get")])
            return ((answers[0], answers[1]), nil)
        } catch ClientError.refused(let error) where error.reason == .unauthorized {
            let advice = "run this as root, as the daemon's user, or as a user with the right observe (access.observe)"
            return (nil, .wrong("daemon", "the daemon refuses to report its status: \(error.message)", advice))
        } catch {
            let advice = "see systemctl status headgate or journalctl -u headgate"
            return (nil, .wrong("daemon", "does not answer: \(error)", advice))
        }
    }

    /// Returns the settings to examine, and the findings about the configuration file. Without a named file these are
    /// the settings in force, if the daemon returned them.
    /// - Parameter inForce: the settings in force, or nil.
    private func settings(_ inForce: DataObject?) -> (DataObject, [Finding]) {
        if let inForce, !isFileGiven { return (inForce, []) }
        guard let text = TextFile.bytes(of: file) else {
            let words = "no readable configuration at \(file)"
            return (
                inForce ?? [:],
                isFileGiven
                    ? [.wrong("settings", words, "give another path: --config FILE")] : [.unknown("settings", words)]
            )
        }
        var findings: [Finding] = []
        if let (code, output) = DaemonProgram.output(["--config", file, "--check"]) {
            findings =
                code == 0
                ? [.fine("settings", "\(file) is valid")]
                : output.split(separator: "\n").map { .wrong("settings", String($0), "fix \(file)") }
        }
        let settings = (try? DataItem(parsing: CommentStripper.strip(text)))?.get(as: DataObject.self)
        return (inForce ?? settings ?? [:], findings)
    }

    private func destinations(_ settings: DataObject) -> [Finding] {
        Destination.all(in: settings).map { $0.finding($0.tried(sending: sends, for: Doctor.timeLimit)) }
    }
}
