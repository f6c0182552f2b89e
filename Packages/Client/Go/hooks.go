package headgate

import "sync"

// A State is what a client knows of its connection.
type State string

const (
	StateConnected    State = "connected"    // the daemon has greeted
	StateDisconnected State = "disconnected" // it was lost or could not be made; the client tries again while calls wait
	StateClosed       State = "closed"       // the client was closed
)

// hooks calls the program's functions one after the other, outside of the client's goroutines and without its locks: such a
// function may call the client, and if it ends its goroutine nothing else ends.
type hooks struct {
	mutex     sync.Mutex
	queue     []func()
	isRunning bool
}

func (h *hooks) add(hook func()) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.queue = append(h.queue, hook)
	if !h.isRunning {
		h.isRunning = true
		go h.run()
	}
}

func (h *hooks) run() {
	for hook := h.next(); hook != nil; hook = h.next() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			hook()
		}()
		<-done
	}
}

func (h *hooks) next() func() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if len(h.queue) == 0 {
		h.isRunning = false
		return nil
	}
	hook := h.queue[0]
	h.queue = h.queue[1:]
	return hook
}
