import HeadgateCore
import HeadgateData
import HeadgateServer

/// A shop's boards, which the program serves itself.
struct ShopBoards {
    let accounts: Accounts

    func serve(_ boards: ProgramBoards) throws {
        try boards.serve("login") { task in
            accounts.signIn(task.run.input) { isSignedIn in
                task.complete(isSignedIn)
            }
        }
        try boards.serve("checkout", behind: ActivationBarrier(board: "login")) { task in
            task.complete(output: ["sold": task.run.input])
        }
        let barrier = { (input: DataItem) in input == "sample" ? nil : ActivationBarrier(board: "login") }
        try boards.serve("gift", behind: barrier) { task in
            task.complete()
        }
    }
}

/// Asks whoever is there who they are, and knows of each mainboard whether somebody is signed in.
final class Accounts {
    private let password: DataItem
    private(set) var attempts = 0

    init(password: DataItem) {
        self.password = password
    }

    func signIn(_ given: DataItem, then: (Bool) -> Void) {
        attempts += 1
        then(given == password)
    }
}

/// Boards whose work takes a while, as tasks.
struct PriceBoard {
    let prices: any PriceList

    func serve(_ boards: ProgramBoards) throws {
        try boards.answer("price") { [prices] run in
            BoardResult(done: true, output: try await prices.price(of: run.input))
        }
    }
}

/// Where prices come from.
protocol PriceList: Sendable {
    func price(of article: DataItem) async throws -> DataItem
}

/// The whole shop behind one gateway.
enum ShopGateway {
    static func add(to configuration: inout ServerConfiguration) {
        configuration.setGateway(.barrier(ActivationBarrier(board: "login")), before: "*")
        configuration.setGateway(.exempt, before: "welcome")
        configuration.setGateway(.exempt, before: "help.*")
    }

    static func open(_ boards: ProgramBoards, then: @escaping (ActivationOutcome) -> Void) throws {
        try boards.serve("imprint", bypassesGateway: true) { task in
            task.complete(output: "Headgate & Daughters")
        }
        boards.activate("welcome", mainboard: "till-7", wait: .seconds(10)) { outcome in
            then(outcome)
        }
    }
}
