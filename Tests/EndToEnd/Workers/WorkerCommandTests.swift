import Foundation
import Testing

/// `headgate worker ID -- COMMAND`.
@Suite struct WorkerCommandTests {
    @Test("K3: each batch is a command's standard input, one event per line, and exit code 0 settles it")
    func batches() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemonWithWorkers(["dispatch_limit": 2])
            try await daemon.track(1...3)
            let script =
                #"echo "$HEADGATE_DISPATCHER $HEADGATE_BATCH $HEADGATE_ATTEMPT" >> ~/told; cat >> ~/got; echo ok"#
            let worker = try WorkerProcess(on: daemon, script: script)
            try await daemon.dispatcher("jobs", until: "all are settled") { $0["sent"].int == 3 }
            #expect(try daemon.ids(in: "got") == ["e1", "e2", "e3"])
            let reported = daemon.lines(of: "told")
            #expect(reported.count == 2)
            #expect(reported.allSatisfy { $0.hasPrefix("jobs ") } && Set(reported).count == 2)
            #expect(reported.allSatisfy { $0.hasSuffix(" 1") })
            #expect(try await worker.stop() == 0)
            #expect(worker.process.output == "ok\nok\n")
            #expect(worker.process.errorOutput.isEmpty)
            #expect(try await daemon.dispatcher("jobs")["blocked_by"].strings == ["WorkerBarrier:jobs"])
        }
    }

    @Test("K3, D9: another exit code retries the batch with counted attempts, until they are used up")
    func failures() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemonWithWorkers(["max_attempts": 3])
            try await daemon.track(1...1)
            let script = #"echo "$HEADGATE_ATTEMPT" >> ~/told; [ "$HEADGATE_ATTEMPT" = 2 ] && kill -9 $$; exit 4"#
            let worker = try WorkerProcess(on: daemon, script: script)
            let jobs = try await daemon.dispatcher("jobs", until: "the event is dead-lettered") { $0["dead"].int == 1 }
            #expect(daemon.lines(of: "told") == ["1", "2", "3"])
            #expect(jobs["last_error"].string == "worker: sh ended with exit code 4")
            #expect(try await worker.stop() == 0)
            #expect(
                worker.process.errorOutput == """
                    headgate: sh ended with exit code 4
                    headgate: sh was ended by signal 9
                    headgate: sh ended with exit code 4

                    """)
        }
    }

    @Test("SIGTERM lets the running command finish, and its batch is settled")
    func orderlyEnd() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemonWithWorkers(["dispatch_limit": 1])
            try await daemon.track(1...2)
            let script = "echo >> ~/begun; until [ -e ~/go ]; do sleep 0.01; done; cat >> ~/got"
            let worker = try WorkerProcess(on: daemon, script: script)
            try await eventually("the first batch") { daemon.lines(of: "begun").count == 1 }
            worker.process.signal(SIGTERM)
            try await daemon.dispatcher("jobs", until: "the worker is stopping") { !$0["blocked_by"].strings.isEmpty }
            daemon.touch("go")
            #expect(try await worker.process.exitCode() == 0)
            #expect(try daemon.ids(in: "got") == ["e1"])
            let jobs = try await daemon.dispatcher("jobs")
            #expect(jobs.contains(["sent": 1, "pending": 1, "in_flight": 0, "failed": 0]))
        }
    }

    @Test("A second signal also ends the command, and its batch goes to another worker")
    func hardEnd() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemonWithWorkers()
            try await daemon.track(1...1)
            let worker = try WorkerProcess(on: daemon, script: "echo >> ~/begun; exec sleep 600")
            try await eventually("the batch") { daemon.lines(of: "begun").count == 1 }
            worker.process.signal(SIGINT)
            try await daemon.dispatcher("jobs", until: "the worker is stopping") { !$0["blocked_by"].strings.isEmpty }
            #expect(try await worker.stop() == 0)
            let jobs = try await daemon.dispatcher("jobs")
            #expect(jobs["last_error"].string == "worker: sh was ended by signal 15")
            #expect(jobs["pending"].int == 1)
        }
    }

    /// Starts a worker and waits until its command runs. Returns the worker and the command's process id.
    private func begun(_ daemon: Daemon, _ script: String) async throws -> (WorkerProcess, pid_t) {
        try await daemon.track(1...1)
        let worker = try WorkerProcess(on: daemon, script: "echo $$ >> ~/begun; \(script)")
        let process = try await eventually("the command") { daemon.lines(of: "begun").first.flatMap { pid_t($0) } }
        return (worker, process)
    }

    @Test("The command of a killed worker ends")
    func killed() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemonWithWorkers()
            let (worker, command) = try await begun(daemon, "exec sleep 600")
            worker.process.signal(SIGKILL)
            #expect(try await worker.process.exitCode() == -SIGKILL)
            try await eventually("the end of the command") { kill(command, 0) != 0 }
        }
    }

    @Test("Other signals are forwarded to the command, and after SIGHUP the worker ends with the command")
    func signals() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemonWithWorkers()
            let script = "trap 'echo usr1 >> ~/got' USR1; trap 'echo hup >> ~/got; exit 0' HUP; echo >> ~/ready; "
            let (worker, _) = try await begun(daemon, script + "while :; do sleep 0.01; done")
            try await eventually("the script's traps are set") { daemon.lines(of: "ready").count == 1 }
            worker.process.signal(SIGUSR1)
            try await eventually("SIGUSR1") { daemon.lines(of: "got") == ["usr1"] }
            worker.process.signal(SIGHUP)
            #expect(try await worker.process.exitCode() == 0)
            #expect(daemon.lines(of: "got") == ["usr1", "hup"])
            try await daemon.dispatcher("jobs", until: "the batch is settled") { $0["sent"].int == 1 }
        }
    }

    @Test("The worker handles signals that its parent blocked or ignored")
    func inheritedSignals() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemonWithWorkers()
            try await daemon.track(1...1)
            let tool = try BuiltProducts.path(of: "headgate")
            // perl is part of every Debian; a shell cannot block a signal.
            let start = """
                use POSIX; $SIG{CHLD} = 'IGNORE'; $SIG{PIPE} = 'DEFAULT';
                sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGCHLD, SIGTERM)); exec @ARGV;
                """
            let output = daemon.folder + "/worker"
            let worker = try ChildProcess(
                "/usr/bin/perl", ["-e", start, tool, "worker", "jobs", "--socket", daemon.socketPath, "--", "true"],
                outputPath: output, errorPath: output)
            try await daemon.dispatcher("jobs", until: "the batch is settled") { $0["sent"].int == 1 }
            worker.signal(SIGTERM)
            #expect(try await worker.exitCode() == 0)
        }
    }

    @Test("Batches of megabytes reach the command completely, and a command that does not read them does no harm")
    func large() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemonWithWorkers(
                ["byte_limit": 33_554_432, "dispatch_limit": 1000], top: ["limits": ["max_line_bytes": 8_388_608]])
            try await daemon.track(1...8, data: ["blob": .string(String(repeating: "x", count: 1 << 20))])
            let script = #"[ "$HEADGATE_ATTEMPT" = 1 ] && exit 1; cat > ~/got"#
            let worker = try WorkerProcess(on: daemon, script: script)
            try await daemon.dispatcher("jobs", until: "all are settled") { $0["sent"].int == 8 }
            #expect(try daemon.ids(in: "got").count == 8)
            #expect(daemon.lines(of: "got").allSatisfy { $0.utf8.count > 1 << 20 })
            #expect(try await worker.stop() == 0)
        }
    }

    @Test("Exit code 2 for wrong usage, 3 without a daemon, and 1 for a refusal or a missing command")
    func exitCodes() async throws {
        try await withScene { scene in
            let daemon = try await scene.daemonWithWorkers()
            try await daemon.track(1...1)
            for words in [["worker"], ["worker", "jobs"], ["worker", "jobs", "--credit", "0", "--", "true"]] {
                #expect(try await CommandLineTool.run(words, in: daemon.folder).exitCode == 2)
            }
            func run(_ words: String...) async throws -> CommandLineTool {
                try await CommandLineTool.run(["--socket", daemon.socketPath, "worker"] + words, in: daemon.folder)
            }
            let unknown = try await run("nobody", "--", "true")
            #expect(unknown.exitCode == 1)
            #expect(unknown.errorOutput == "headgate: there is no dispatcher nobody\n")
            let missing = try await run("jobs", "--", "/nowhere/at/all")
            #expect(missing.exitCode == 1)
            #expect(missing.errorOutput == "headgate: /nowhere/at/all: cannot start: no such file or directory\n")
            try await daemon.dispatcher("jobs", until: "the event is pending again") { $0["pending"].int == 1 }
            _ = try await daemon.stop()
            #expect(try await run("jobs", "--", "true").exitCode == 3)
        }
    }
}
