package headgate

import (
	"log"
	"time"
)

// Forever is a timeout that never ends.
const Forever time.Duration = 1<<63 - 1

// Options of a client. A member that is zero has its default.
type Options struct {
	// SocketPath is the path of the daemon's socket; by default that of DefaultSocket.
	SocketPath string
	// Namespace is the namespace of the events' ids (Behaviour Q7); by default that of the user.
	Namespace string
	// ConnectTimeout is the longest wait of a call for the first connection; by default 10 s. One attempt is always made; a
	// negative timeout allows no other. A daemon that is found stopping counts as a lost connection.
	ConnectTimeout time.Duration
	// ReconnectTimeout is the longest wait of calls after a lost connection; by default Forever. A negative timeout does
	// not wait.
	ReconnectTimeout time.Duration
	// GreetingTimeout is the longest wait for the answer to hello; by default 10 s.
	GreetingTimeout time.Duration
	// CloseTimeout is the longest wait of Close for answers; by default 5 s.
	CloseTimeout time.Duration
	// OnState is called when the state of the connection changes; the error says why it is StateDisconnected. It is called by
	// a goroutine of its own, and may call the client. Close waits for it within its time.
	OnState func(state State, err error)
	// Logf is called with a line for the log: the daemon cannot be reached (once until a call is answered again), a worker is
	// refused, an answer is not sent, or events are left at the end. By default it is log.Printf.
	Logf func(format string, arguments ...any)
	// MaxUnanswered is the greatest number of unanswered calls; by default 16 384. Further calls wait for room.
	MaxUnanswered int
	// MaxUnansweredBytes is the greatest size of unanswered calls; by default 8 MiB. One call is always let through.
	MaxUnansweredBytes int
	// BackoffBase is the first wait between two attempts to connect, with a random part; by default 50 ms. Each next wait is
	// twice as long.
	BackoffBase time.Duration
	// BackoffCap is the longest wait between two attempts to connect; by default 5 s.
	BackoffCap time.Duration
}

// filled returns the options with the defaults of the absent ones.
func (o Options) filled() Options {
	if o.SocketPath == "" {
		o.SocketPath = DefaultSocket()
	}
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = 10 * time.Second
	}
	if o.ReconnectTimeout == 0 {
		o.ReconnectTimeout = Forever
	}
	setDefault(&o.GreetingTimeout, 10*time.Second)
	setDefault(&o.CloseTimeout, 5*time.Second)
	setDefault(&o.MaxUnanswered, 16_384)
	setDefault(&o.MaxUnansweredBytes, 8<<20)
	setDefault(&o.BackoffBase, 50*time.Millisecond)
	setDefault(&o.BackoffCap, 5*time.Second)
	if o.OnState == nil {
		o.OnState = func(State, error) {}
	}
	if o.Logf == nil {
		o.Logf = log.Printf
	}
	return o
}

// setDefault replaces a value that is absent or not positive by the default.
func setDefault[Value int | time.Duration](value *Value, fallback Value) {
	if *value <= 0 {
		*value = fallback
	}
}
