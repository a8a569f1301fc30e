// Package nanopace paces the operations of a load generator with the C library of the same name. Waiting blocks no
// thread: the runtime's poller parks a goroutine that waits for its slot.
package nanopace

/*
#cgo CFLAGS: -I${SRCDIR}/../../include
#cgo LDFLAGS: -lnanopace_capi -lm -ldl
#include <nanopace.h>
#include <stdlib.h>

typedef struct { nanopace_status status; nanopace_grant grant; } outcome;

// Starts the next slot if it is due. Because the address is passed as a number and the result by value, Go allocates
// nothing.
static outcome take(uintptr_t pacer)
{
    outcome outcome;
    uint64_t due_ns;
    outcome.status = nanopace_try_acquire((const nanopace_pacer *)pacer, &outcome.grant, &due_ns);
    return outcome;
}

// Starts the slots that are due, at most `most`, in one call from Go. Returns the number of started slots.
static size_t take_due(const nanopace_pacer *pacer, nanopace_grant *grants, size_t most)
{
    size_t taken = 0;
    uint64_t due_ns;
    while (taken < most && !nanopace_try_acquire(pacer, &grants[taken], &due_ns))
        taken++;
    return taken;
}
*/
import "C"

import (
	"errors"
	"runtime"
	"sync"
	"time"
	"unsafe"
)

// The error of a load that has no slot left, and the error of a closed pacer.
var (
	ErrFinished = errors.New("nanopace: the load is over")
	ErrClosed   = errors.New("nanopace: the pacer is closed")
)

// Grant is a slot that may start now, with the memory layout of the C struct. Times are nanoseconds of CLOCK_MONOTONIC.
type Grant struct {
	IntendedStartNs uint64 // the time from which response times count
	ActualStartNs   uint64
	WaitNs          uint64 // the lateness of the operation
	Slot            uint64 // the slot's number in the whole load, counted from 0
}

// Both subtractions compile only if the two structs have the same size.
var _ [unsafe.Sizeof(Grant{}) - C.sizeof_nanopace_grant]struct{}
var _ [C.sizeof_nanopace_grant - unsafe.Sizeof(Grant{})]struct{}

// Pacer hands out the slots of a load, each to one of any number of goroutines.
type Pacer struct {
	pacer  *C.nanopace_pacer
	poller *C.nanopace_poller
	watch  *C.nanopace_watch
	timer  *timer

	base   time.Time // a time, and the reading of the pacer's clock at that time
	baseNs uint64

	turn     sync.Mutex // held by the goroutine whose turn it is to wait
	grant    Grant
	due      C.uint64_t
	isClosed bool
}

// New creates a pacer for a load: a rate such as "5k/s", or a shape such as "ramp 100/s..5k/s 30s, hold 60s". Slot 0
// starts when a goroutine first asks for a slot. The load ends after the given number of slots; 0 means no end.
func New(load string, slots uint64) (*Pacer, error) {
	text := C.CString(load)
	defer C.free(unsafe.Pointer(text))
	options := C.nanopace_options{size: C.sizeof_nanopace_options, slots: C.uint64_t(slots)}
	options.start = C.NANOPACE_START_FIRST_USE
	p := &Pacer{}
	if status := C.nanopace_new(text, &options, &p.pacer); status != 0 {
		return nil, failure(status)
	}
	if err := p.open(); err != nil {
		C.nanopace_free(p.pacer)
		return nil, err
	}
	p.base, p.baseNs = time.Now(), p.nowNs()
	// Close does not free the pacer, so that methods may be called after Close.
	runtime.SetFinalizer(p, func(p *Pacer) { C.nanopace_free(p.pacer) })
	return p, nil
}

func (p *Pacer) open() error {
	var changes C.int32_t
	if status := C.nanopace_poller_new(p.pacer, &p.poller); status != 0 {
		return failure(status)
	}
	if status := C.nanopace_watch_new(p.pacer, &p.watch, &changes); status != 0 {
		return failure(status)
	}
	var err error
	p.timer, err = newTimer(int(changes))
	return err
}

// Acquire claims the next slot, waits until its intended start, and returns its grant.
func (p *Pacer) Acquire() (Grant, error) {
	one := C.take(C.uintptr_t(uintptr(unsafe.Pointer(p.pacer))))
	runtime.KeepAlive(p)
	if one.status == C.NANOPACE_STATUS_OK {
		return *(*Grant)(unsafe.Pointer(&one.grant)), nil
	}
	return p.wait()
}

// AcquireDue waits until the next slot's intended start, and also starts the other slots that are due. It fills grants,
// whose length must not be 0, and returns the number of started slots. If several slots are due, AcquireDue is faster
// than Acquire, because a call of C costs more than a slot.
func (p *Pacer) AcquireDue(grants []Grant) (int, error) {
	if taken := p.takeDue(grants); taken > 0 {
		return taken, nil
	}
	grant, err := p.wait()
	if err != nil {
		return 0, err
	}
	grants[0] = grant
	return 1 + p.takeDue(grants[1:]), nil
}

func (p *Pacer) takeDue(grants []Grant) int {
	if len(grants) == 0 {
		return 0
	}
	taken := C.take_due(p.pacer, (*C.nanopace_grant)(unsafe.Pointer(&grants[0])), C.size_t(len(grants)))
	runtime.KeepAlive(p)
	return int(taken)
}

// wait waits for its turn, claims the next slot, and waits until its intended start.
func (p *Pacer) wait() (Grant, error) {
	p.turn.Lock()
	defer p.turn.Unlock()
	for !p.isClosed {
		status := p.poll()
		if status == C.NANOPACE_STATUS_OK {
			return p.grant, nil
		}
		if status > C.NANOPACE_STATUS_PAUSED {
			return Grant{}, failure(status)
		}
		if err := p.timer.wait(); err != nil {
			return Grant{}, err
		}
	}
	return Grant{}, ErrClosed
}

// poll starts the slot if it is due. Otherwise, it sets the timer to the slot's due time.
func (p *Pacer) poll() C.nanopace_status {
	p.timer.setting.Lock() // so that no change is reported between the poll and the setting of the timer
	defer p.timer.setting.Unlock()
	status := C.nanopace_poller_poll(p.poller, (*C.nanopace_grant)(unsafe.Pointer(&p.grant)), &p.due)
	if status == C.NANOPACE_STATUS_NOT_YET || status == C.NANOPACE_STATUS_PAUSED {
		p.timer.set(uint64(p.due))
	}
	return status
}

// Start returns a slot's intended start. At the end of an operation, time.Since(pacer.Start(grant)) is its response
// time.
func (p *Pacer) Start(grant Grant) time.Time {
	return p.base.Add(time.Duration(int64(grant.IntendedStartNs - p.baseNs)))
}

func (p *Pacer) nowNs() uint64 { return uint64(C.nanopace_now(p.pacer)) }

// SetLoad changes the load. The change also applies to the goroutine that is waiting.
func (p *Pacer) SetLoad(load string) error {
	text := C.CString(load)
	defer C.free(unsafe.Pointer(text))
	return failure(C.nanopace_set_load(p.pacer, text))
}

// RateHz returns the current rate, in slots per second.
func (p *Pacer) RateHz() float64 {
	var state C.nanopace_state
	C.nanopace_get_state(p.pacer, &state)
	return float64(state.rate_hz)
}

// Close ends the load: waiting and later calls of Acquire and AcquireDue return ErrClosed.
func (p *Pacer) Close() {
	C.nanopace_close(p.pacer)
	p.turn.Lock()
	defer p.turn.Unlock()
	if !p.isClosed {
		p.timer.close()
		C.nanopace_watch_free(p.watch)
		C.nanopace_poller_free(p.poller)
	}
	p.isClosed = true
}

func failure(status C.nanopace_status) error {
	switch status {
	case C.NANOPACE_STATUS_OK:
		return nil
	case C.NANOPACE_STATUS_FINISHED:
		return ErrFinished
	case C.NANOPACE_STATUS_CLOSED:
		return ErrClosed
	}
	var text [200]C.char
	C.nanopace_describe(C.uint32_t(status), &text[0], C.size_t(len(text)))
	return errors.New("nanopace: " + C.GoString(&text[0]))
}
