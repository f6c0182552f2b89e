package headgate

import (
	"log"
	"time"
)

// Forever is for as long as it takes.
const Forever time.Duration = 1<<63 - 1

// Options of a client. A member that is zero has its default.
type Options struct {
	// SocketPath is the daemon's socket; usually where UsualSocket says.
	SocketPath string
	// Namespace is the namespace of the events' ids (Behaviour Q7); usually that of the user.
	Namespace string
	// ConnectTimeout is how long a call waits for the first connection; usually 10 s. One attempt is always made; what is
	// negative makes no other. A daemon that is found stopping counts as a lost connection.
	ConnectTimeout time.Duration
	// ReconnectTimeout is how long calls wait for a connection that was lost to come back; usually Forever. What is negative
	// does not wait.
	ReconnectTimeout time.Duration
	// GreetingTimeout is how long the daemon may take to answer hello; usually 10 s.
	GreetingTimeout time.Duration
	// CloseTimeout is how long Close waits for answers; usually 5 s.
	CloseTimeout time.Duration
	// OnState is called when the state of the connection changes; the error says why it is StateDisconnected. It is called by
	// a goroutine of its own, and may call the client. Close waits for it within its time.
	OnState func(state State, err error)
	// Logf is called with a line for the log: the daemon cannot be reached (once until a call is answered again), a worker is
	// refused, an answer is not sent, or events are left at the end. By default it is log.Printf.
	Logf func(format string, arguments ...any)
	// MaxUnanswered is how many calls may be unanswered; usually 16 384. Who calls more waits for room.
	MaxUnanswered int
	// MaxUnansweredBytes is how many bytes of calls may be unanswered; usually 8 MiB. One call is always let through.
	MaxUnansweredBytes int
	// BackoffBase is about how long the first wait between two attempts to connect is; usually 50 ms. Each next one is twice
	// as long.
	BackoffBase time.Duration
	// BackoffCap is the longest wait between two attempts to connect; usually 5 s.
	BackoffCap time.Duration
}

// filled returns the options with the defaults of the absent ones.
func (o Options) filled() Options {
	if o.SocketPath == "" {
		o.SocketPath = UsualSocket()
	}
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = 10 * time.Second
	}
	if o.ReconnectTimeout == 0 {
		o.ReconnectTimeout = Forever
	}
	usually(&o.GreetingTimeout, 10*time.Second)
	usually(&o.CloseTimeout, 5*time.Second)
	usually(&o.MaxUnanswered, 16_384)
	usually(&o.MaxUnansweredBytes, 8<<20)
	usually(&o.BackoffBase, 50*time.Millisecond)
	usually(&o.BackoffCap, 5*time.Second)
	if o.OnState == nil {
		o.OnState = func(State, error) {}
	}
	if o.Logf == nil {
		o.Logf = log.Printf
	}
	return o
}

// usually replaces a value that is absent or not positive by the default.
func usually[Value int | time.Duration](value *Value, usual Value) {
	if *value <= 0 {
		*value = usual
	}
}
