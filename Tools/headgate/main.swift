import Glibc
import HeadgateCommands

exit(CommandLineTool.run(Array(CommandLine.arguments.dropFirst()), builtFrom: builtFrom))
