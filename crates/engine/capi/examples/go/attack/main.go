// Attack loads its own HTTP server as vegeta does: one goroutine asks the pacer when to hit, and workers make the hits.
// Response times count from the intended start.
package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sort"
	"sync"
	"time"

	"nanopace"
)

const (
	load    = "ramp 100/s..1k/s 1s, hold 1k/s 1s"
	slots   = 1500
	workers = 32
)

// pacer has the method that vegeta requires.
type pacer interface {
	Pace(elapsed time.Duration, hits uint64) (wait time.Duration, stop bool)
}

// attack calls hit in a worker for each hit of the pacer.
func attack(p pacer, hit func()) {
	var group sync.WaitGroup
	ticks := make(chan struct{})
	for i := 0; i < workers; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for range ticks {
				hit()
			}
		}()
	}
	began := time.Now()
	for hits := uint64(0); ; hits++ {
		wait, stop := p.Pace(time.Since(began), hits)
		if stop {
			break
		}
		time.Sleep(wait)
		ticks <- struct{}{}
	}
	close(ticks)
	group.Wait()
}

func run() error {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "ok")
	}))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: workers}}
	p, err := nanopace.New(load, slots)
	if err != nil {
		return err
	}
	defer p.Close()
	hits := nanopace.NewHits(p, workers)
	times := make(chan time.Duration, slots)
	attack(hits, func() {
		start := <-hits.Starts
		answer, err := client.Get(server.URL)
		if err != nil {
			return
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		times <- time.Since(start)
	})
	close(times)
	return report(times)
}

func report(times <-chan time.Duration) error {
	var all []time.Duration
	for response := range times {
		all = append(all, response)
	}
	if len(all) != slots {
		return fmt.Errorf("%d of %d hits got a response", len(all), slots)
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	fmt.Printf("%d hits; response times: p50 %v, p99 %v\n", len(all), all[len(all)/2], all[len(all)*99/100])
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
