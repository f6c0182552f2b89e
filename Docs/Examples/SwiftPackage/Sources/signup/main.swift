// A command-line tool: `signup PLAN SEATS` tracks a sign-up and prints the id under which the daemon has stored it.
import Glibc
import HeadgateClient

struct Signup: Encodable {
    var plan: String
    var seats: Int
}

let arguments = CommandLine.arguments.dropFirst()
guard arguments.count == 2, let plan = arguments.first, let seats = arguments.last.flatMap({ Int($0) }) else {
    print("usage: signup PLAN SEATS")
    exit(2)
}
do {
    let client = try HeadgateClient(name: "signup", version: "1.0")
    let receipt = try await client.track("signup", Signup(plan: plan, seats: seats), deadline: .seconds(5))
    print(receipt.id)
} catch {
    print("signup: \(error)")
    exit(1)
}
