package headgate

import (
	"math/rand"
	"time"
)

// backoff is the wait before the next attempt to connect, and the moment after which there is none.
type backoff struct {
	base, cap time.Duration
	failures  int
	isPatient bool      // true if end has been set
	end       time.Time // zero: none
}

// begin sets the moment of the last attempt, unless it is set already.
func (b *backoff) begin(patience time.Duration) {
	if b.isPatient {
		return
	}
	b.isPatient, b.end = true, time.Time{}
	if patience != Forever {
		b.end = time.Now().Add(patience)
	}
}

// rest forgets the end: the next call that waits has the whole timeout.
func (b *backoff) rest() { b.isPatient = false }

// succeed notes that a call was answered.
func (b *backoff) succeed() { b.failures, b.isPatient = 0, false }

func (b *backoff) isOver() bool {
	return b.isPatient && !b.end.IsZero() && !time.Now().Before(b.end)
}

// wait returns a random time between half and all of the present wait: clients that lost the daemon together do not reconnect together.
func (b *backoff) wait() time.Duration {
	longest := b.base
	for count := 1; count < b.failures && longest < b.cap; count++ {
		if longest > b.cap/2 { // twice as long may be more than a Duration holds
			longest = b.cap
		} else {
			longest *= 2
		}
	}
	if longest > b.cap {
		longest = b.cap
	}
	wait := longest/2 + time.Duration(rand.Int63n(int64(longest/2)+1))
	if b.isPatient && !b.end.IsZero() && time.Until(b.end) < wait {
		return time.Until(b.end)
	}
	return wait
}
