import Foundation
import PackagePlugin

/// Writes down which commit a program is built from, for its `--version`, and anew only when that has changed. Where there is no
/// repository the program says nothing of it; whose it is does not matter.
///
/// SwiftPM asks for it when it plans a build. A plan that it still has from before knows of no later commit: what is given to
/// others is built with `--disable-build-manifest-caching`.
@main
struct Commit: BuildToolPlugin {
    private static let script = #"""
        ask() { git -c safe.directory="$PWD" "$@" 2>/dev/null; }
        cd "$1" && commit=$(ask rev-parse HEAD) && { ask diff-index --quiet HEAD -- || commit=$commit-changed; }
        text="let builtFrom: String? = nil"
        [ -z "$commit" ] || text="let builtFrom: String? = \"$commit\""
        [ "$(cat "$2" 2>/dev/null)" = "$text" ] || printf '%s\n' "$text" >"$2"
        """#

    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let folder = context.pluginWorkDirectoryURL
        let file = folder.appending(path: "BuiltFrom.swift")
        return [
            .prebuildCommand(
                displayName: "The commit", executable: URL(filePath: "/bin/sh"),
                arguments: ["-c", Self.script, "commit", context.package.directoryURL.path(), file.path()],
                outputFilesDirectory: folder)
        ]
    }
}
