import Foundation
import Testing

/// `headgate completions bash`.
@Suite struct CompletionEvaluationTests {
    @Test("X8: completion in bash evaluates neither the ids that a daemon returns nor the words on the line")
    func evaluatesNothing() async throws {
        let folder = NSTemporaryDirectory() + "completions-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let run = try await CommandLineTool.run(
            program: "/bin/bash", ["-c", Self.script, "bash", BuiltProducts.path(of: "headgate"), folder], in: folder)
        #expect(run.output == "ok\nok\nok\n\n\n")
    }

    /// Completes lines with a daemon whose ids are shell code. It prints the completions for each line, and a last word
    /// if the code ran.
    private static let script = #"""
        cd "$2" || exit 2
        source <("$1" completions bash)
        headgate() { echo '{"dispatchers":[{"id":"ok"},{"id":"$(touch evaluated)"},{"id":"`touch evaluated`"}]}'; }
        while IFS= read -r line; do
            read -ra COMP_WORDS <<<"$line"
            COMP_WORDS=("${COMP_WORDS[@]/#_/}")
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            _headgate
            echo "${COMPREPLY[*]}"
        done <<'LINES'
        headgate pause _
        headgate send x --dispatcher _
        headgate --socket $(touch${IFS}evaluated) pause _
        headgate pause $(touch${IFS}evaluated)
        headgate config check `touch${IFS}evaluated`
        LINES
        [[ ! -e evaluated ]] || echo evaluated
        """#
}
