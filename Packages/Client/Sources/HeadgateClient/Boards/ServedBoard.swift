/// A board that this client serves.
struct ServedBoard {
    /// The persistent call of the board.
    let call: ClientCall
    /// Reports news of the board to the program.
    let notify: (BoardNews) -> Void
    /// True once the program stopped serving the board. Runs that still arrive are passed to the program.
    var isEnding = false
}
