package nanopace

import (
	"io"
	"math"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

const (
	clockMonotonic = 1
	timerAbsolute  = 1
	duplicateAbove = 1030 // F_DUPFD_CLOEXEC, which package syscall lacks
)

// A timer is a timerfd in an os.File: the goroutine that reads it is parked by the runtime's poller. Changes of the
// load end the wait as well.
type timer struct {
	file    *os.File
	raw     syscall.RawConn
	changes *os.File
	setting sync.Mutex // held while the timer is set
}

// newTimer makes a timer that also fires when the eventfd reports a change. It reads a copy of the eventfd, because the
// library closes its own.
func newTimer(changes int) (*timer, error) {
	copied, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(changes), duplicateAbove, 0)
	if errno != 0 {
		return nil, errno
	}
	t := &timer{changes: os.NewFile(copied, "changes")}
	flags := syscall.O_NONBLOCK | syscall.O_CLOEXEC
	fd, _, errno := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, clockMonotonic, uintptr(flags), 0)
	if errno != 0 {
		t.changes.Close()
		return nil, errno
	}
	t.file = os.NewFile(fd, "timer")
	raw, err := t.file.SyscallConn()
	if err != nil {
		t.close()
		return nil, err
	}
	t.raw = raw
	go t.follow()
	return t, nil
}

// follow fires the timer at each change, until it is closed.
func (t *timer) follow() {
	var count [8]byte
	for {
		if _, err := io.ReadFull(t.changes, count[:]); err != nil {
			return
		}
		t.setting.Lock()
		t.set(1)
		t.setting.Unlock()
	}
}

// set arms the timer for a moment of CLOCK_MONOTONIC that is not 0. The caller holds the lock.
func (t *timer) set(atNs uint64) {
	if atNs > math.MaxInt64 {
		atNs = math.MaxInt64
	}
	// An interval of zero, and the moment.
	due := [2]syscall.Timespec{{}, syscall.NsecToTimespec(int64(atNs))}
	// It fails once the file is closed, and then no goroutine waits.
	_ = t.raw.Control(func(fd uintptr) {
		syscall.RawSyscall6(syscall.SYS_TIMERFD_SETTIME, fd, timerAbsolute, uintptr(unsafe.Pointer(&due)), 0, 0, 0)
	})
}

// wait returns when it has fired.
func (t *timer) wait() error {
	var count [8]byte
	_, err := io.ReadFull(t.file, count[:])
	return err
}

func (t *timer) close() {
	t.file.Close()
	t.changes.Close()
}
