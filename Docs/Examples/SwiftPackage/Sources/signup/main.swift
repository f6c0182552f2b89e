// A command-line tool: `signup PLAN SEATS` tracks a sign-up and prints the id under which the daemon has stored it.
import Glibc
import HeadgateClient
import HeadgateData

let arguments = CommandLine.arguments.dropFirst()
guard arguments.count == 2, let plan = arguments.first, let seats = arguments.last.flatMap({ Int($0) }) else {
    print("usage: signup PLAN SEATS")
    exit(2)
}
let client = try HeadgateClient(name: "signup", version: "1.0")
do {
    let receipt = try await client.track("signup", data: ["plan": .string(plan), "seats": .number(DataNumber(seats))])
    print(receipt.id)
} catch {
    print("signup: \(error)")
    exit(1)
}
