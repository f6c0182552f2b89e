package headgate

import (
	"math/rand"
	"time"
)

// backoff says how long to wait before the next attempt to connect, and when to give it up.
type backoff struct {
	base, cap time.Duration
	failures  int
	isPatient bool      // whether there is an end
	end       time.Time // zero: none
}

// begin is patient for so long, unless it is so already.
func (b *backoff) begin(patience time.Duration) {
	if b.isPatient {
		return
	}
	b.isPatient, b.end = true, time.Time{}
	if patience != Forever {
		b.end = time.Now().Add(patience)
	}
}

// rest: whoever waits next has all the time there is.
func (b *backoff) rest() { b.isPatient = false }

// succeed: an answer to a call came.
func (b *backoff) succeed() { b.failures, b.isPatient = 0, false }

func (b *backoff) isOver() bool {
	return b.isPatient && !b.end.IsZero() && !time.Now().Before(b.end)
}

// wait is somewhere in the upper half, so that those who lost the daemon together do not come back together.
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
