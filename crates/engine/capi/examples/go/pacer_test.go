package nanopace

import (
	"errors"
	"os"
	"runtime"
	"sort"
	"sync"
	"testing"
	"time"
)

func paced(t testing.TB, load string, slots uint64) *Pacer {
	t.Helper()
	p, err := New(load, slots)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestEachSlotStartsOnceAndNotBeforeItsTime(t *testing.T) {
	const slots = 400
	p := paced(t, "2k/s", slots)
	var group sync.WaitGroup
	started := make([]int, slots)
	grants := make(chan Grant, slots)
	for worker := 0; worker < 8; worker++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for {
				grant, err := p.Acquire()
				if errors.Is(err, ErrFinished) {
					return
				}
				if err != nil || grant.ActualStartNs < grant.IntendedStartNs {
					t.Error(grant, err)
					return
				}
				grants <- grant
			}
		}()
	}
	group.Wait()
	close(grants)
	var first uint64
	for grant := range grants {
		if grant.Slot == 0 {
			first = grant.IntendedStartNs
		}
		if due := first + grant.Slot*500_000; grant.IntendedStartNs != due {
			t.Fatal(grant, due)
		}
		started[grant.Slot]++
	}
	for slot, times := range started {
		if times != 1 {
			t.Fatal(slot, times)
		}
	}
}

func TestWhatIsDueIsTakenTogether(t *testing.T) {
	p := paced(t, "1M/s", 100_000)
	grants := make([]Grant, 64)
	var next uint64
	for {
		taken, err := p.AcquireDue(grants)
		if errors.Is(err, ErrFinished) {
			break
		}
		if err != nil || taken < 1 {
			t.Fatal(taken, err)
		}
		for _, grant := range grants[:taken] {
			if grant.Slot != next {
				t.Fatal(grant, next)
			}
			next++
		}
	}
	if next != 100_000 {
		t.Fatal(next)
	}
}

// isWaitedFor reports whether a goroutine has found that its slot is not due.
func (p *Pacer) isWaitedFor() bool {
	p.timer.setting.Lock()
	defer p.timer.setting.Unlock()
	return p.due != 0
}

func TestWaitingBlocksNoThread(t *testing.T) {
	const waiting = 200
	var group sync.WaitGroup
	pacers := make([]*Pacer, waiting)
	for i := range pacers {
		p := paced(t, "1/h", 0)
		pacers[i] = p
		if _, err := p.Acquire(); err != nil { // slot 0; the next one is due in an hour
			t.Fatal(err)
		}
		group.Add(1)
		go func() {
			defer group.Done()
			if _, err := p.Acquire(); !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		}()
	}
	for _, p := range pacers {
		for !p.isWaitedFor() {
			runtime.Gosched()
		}
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil || len(threads) > waiting/2 {
		t.Error(len(threads), "threads", err)
	}
	for _, p := range pacers {
		p.Close()
	}
	group.Wait()
}

func TestAChangeReachesWhoWaits(t *testing.T) {
	p := paced(t, "1/h", 0)
	if _, err := p.Acquire(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := p.Acquire()
		done <- err
	}()
	if err := p.SetLoad("1k/s"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsWrongIsToldInWords(t *testing.T) {
	_, err := New("5k/fortnight", 0)
	if err == nil || len(err.Error()) < 20 {
		t.Fatal(err)
	}
	p := paced(t, "1k/s", 0)
	p.Close()
	if _, err := p.Acquire(); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	if err := p.SetLoad("2k/s"); err != nil {
		t.Fatal(err)
	}
}

func TestHitsAreOfVegetasShape(t *testing.T) {
	var hits interface {
		Pace(elapsed time.Duration, hits uint64) (wait time.Duration, stop bool)
		Rate(elapsed time.Duration) float64
	}
	h := NewHits(paced(t, "10k/s", 100), 1)
	hits = h
	var last time.Time
	for hit := uint64(0); ; hit++ {
		wait, stop := hits.Pace(0, hit)
		if stop {
			if hit != 100 {
				t.Fatal(hit)
			}
			return
		}
		start := <-h.Starts
		if gap := start.Sub(last); wait != 0 || hit > 0 && gap != 100*time.Microsecond {
			t.Fatal(hit, wait, gap)
		}
		last = start
	}
}

// Measures one call of C, which reads the clock.
func BenchmarkCall(b *testing.B) {
	p := paced(b, "1/s", 0)
	for i := 0; i < b.N; i++ {
		p.nowNs()
	}
}

// Measures slots that are due: the rate is higher than any machine can reach.
func BenchmarkAcquire(b *testing.B) {
	p := paced(b, "1G/s", 0)
	for i := 0; i < b.N; i++ {
		if _, err := p.Acquire(); err != nil {
			b.Fatal(err)
		}
	}
}

// Measures the time per slot if 64 slots are started per call.
func BenchmarkAcquireDue64(b *testing.B) {
	p := paced(b, "1G/s", 0)
	grants := make([]Grant, 64)
	for left := b.N; left > 0; {
		taken, err := p.AcquireDue(grants)
		if err != nil {
			b.Fatal(err)
		}
		left -= taken
	}
}

// Measures the lateness of slots that a goroutine waits for, at 1000/s. The time per operation has no meaning here.
func BenchmarkLateness(b *testing.B) {
	p := paced(b, "1k/s", 0)
	late := make([]uint64, b.N)
	for i := range late {
		grant, err := p.Acquire()
		if err != nil {
			b.Fatal(err)
		}
		late[i] = grant.WaitNs
	}
	sort.Slice(late, func(i, j int) bool { return late[i] < late[j] })
	b.ReportMetric(float64(late[len(late)/2])/1e3, "us-late-p50")
	b.ReportMetric(float64(late[len(late)*99/100])/1e3, "us-late-p99")
}
