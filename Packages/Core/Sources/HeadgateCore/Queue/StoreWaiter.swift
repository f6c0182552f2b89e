/// A waiter for a store operation. It is notified with nil, or with the fault.
struct StoreWaiter {
    let tell: (StoreFault?) -> Void
}

extension [StoreWaiter] {
    /// Notifies all waiters in order.
    func tell(_ fault: StoreFault?) {
        for waiter in self { waiter.tell(fault) }
    }
}
