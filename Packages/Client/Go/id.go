package headgate

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"time"
)

// The last id. An id has a time and random bits; within a millisecond the next id is the last one plus one.
var ids struct {
	sync.Mutex
	milliseconds uint64
	high         uint64 // the 12 bits after the time
	low          uint64 // the 62 bits after high
}

const (
	highBits = 1<<12 - 1
	lowBits  = 1<<62 - 1
)

// NewID returns a UUIDv7 (RFC 9562) that is greater than all earlier ones of this process.
func NewID() string {
	var chance [16]byte
	if _, err := rand.Read(chance[:]); err != nil {
		panic(err) // the system has no random numbers
	}
	now := uint64(time.Now().UnixMilli())
	ids.Lock()
	defer ids.Unlock()
	if now > ids.milliseconds {
		ids.milliseconds = now
		// The first bit is 0, so that counting on does not overflow.
		ids.high = uint64(binary.BigEndian.Uint16(chance[:])) & (highBits >> 1)
		ids.low = binary.BigEndian.Uint64(chance[8:]) & lowBits
	} else {
		ids.low += 1 + uint64(binary.BigEndian.Uint32(chance[:]))
		ids.high += ids.low >> 62
		ids.low &= lowBits
		ids.milliseconds += ids.high >> 12
		ids.high &= highBits
	}
	var bytes [16]byte
	binary.BigEndian.PutUint64(bytes[:], ids.milliseconds<<16|7<<12|ids.high)
	binary.BigEndian.PutUint64(bytes[8:], 2<<62|ids.low)
	text := hex.EncodeToString(bytes[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
