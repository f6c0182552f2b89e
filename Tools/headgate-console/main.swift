import Glibc
import HeadgateConsole

exit(ConsoleProgram.run(Array(CommandLine.arguments.dropFirst()), builtFrom: builtFrom))
