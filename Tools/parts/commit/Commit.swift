import Foundation
import PackagePlugin

/// A build plugin that writes a source file with the commit that a program is built from, for its `--version`. The file
/// is rewritten only if the commit has changed. Without a repository the commit in the file is nil. The repository may belong to
/// another user.
///
/// SwiftPM runs this plugin when it plans a build. With a cached plan the file keeps the earlier commit, so packages are built
/// with `--disable-build-manifest-caching`.
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
