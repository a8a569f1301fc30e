package nanopace

import "time"

// Hits is a Pacer with the methods that vegeta requires.
type Hits struct {
	*Pacer
	// Starts has the intended start of each hit, in order. The worker that makes the hit takes one.
	Starts chan time.Time
}

// NewHits paces hits, with room for this many on their way to a worker at a time: at least the number of workers.
func NewHits(pacer *Pacer, workers int) Hits {
	return Hits{pacer, make(chan time.Time, workers+1)}
}

// Pace waits for the next hit's intended start, hands the start on, and asks for no further wait. It stops when the
// load is over.
func (h Hits) Pace(time.Duration, uint64) (time.Duration, bool) {
	grant, err := h.Acquire()
	if err != nil {
		return 0, true
	}
	h.Starts <- h.Start(grant)
	return 0, false
}

// Rate is the rate in force, in hits per second.
func (h Hits) Rate(time.Duration) float64 { return h.RateHz() }
