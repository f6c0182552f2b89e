import HeadgateCore
import HeadgateData
import HeadgateServer

/// The boards of a shop, which the program serves itself.
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

/// Compares passwords, and counts the attempts to sign in.
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

/// A board whose work takes a while and runs as a task.
struct PriceBoard {
    let prices: any PriceList

    func serve(_ boards: ProgramBoards) throws {
        try boards.answer("price") { [prices] run in
            BoardResult(done: true, output: try await prices.price(of: run.input))
        }
    }
}

/// A source of prices.
protocol PriceList: Sendable {
    func price(of article: DataItem) async throws -> DataItem
}

/// A gateway before all boards of the shop.
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
