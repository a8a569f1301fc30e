package nanopace

import "time"

// Hits is a Pacer with the methods that vegeta requires.
type Hits struct {
	*Pacer
	// Starts contains the intended starts of hits, in order. A worker that makes a hit takes one of them.
	Starts chan time.Time
}

// NewHits creates Hits with room for the intended starts of `workers` hits that no worker has taken yet. `workers` must
// be at least the number of workers.
func NewHits(pacer *Pacer, workers int) Hits {
	return Hits{pacer, make(chan time.Time, workers+1)}
}

// Pace waits until the next hit's intended start, sends this start to Starts, and requests no further wait. When the
// load is over, it tells vegeta to stop.
func (h Hits) Pace(time.Duration, uint64) (time.Duration, bool) {
	grant, err := h.Acquire()
	if err != nil {
		return 0, true
	}
	h.Starts <- h.Start(grant)
	return 0, false
}

// Rate returns the current rate, in hits per second.
func (h Hits) Rate(time.Duration) float64 { return h.RateHz() }
