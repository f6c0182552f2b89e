/// A board that this client serves.
struct ServedBoard {
    /// The persistent call of the board.
    let call: ClientCall
    /// Reports news of the board to the program.
    let notify: (BoardNews) -> Void
    /// True once it was ended. Runs that still come are taken.
    var isEnding = false
}
