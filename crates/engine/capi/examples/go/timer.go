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
	duplicateAbove = 1030 // F_DUPFD_CLOEXEC, which package syscall does not define
)

// A timer is a timerfd in an os.File: the runtime's poller parks the goroutine that reads it. A change of the load also
// ends the wait.
type timer struct {
	file    *os.File
	raw     syscall.RawConn
	changes *os.File
	setting sync.Mutex // held while the timer is set
}

// newTimer creates a timer that also fires when the eventfd reports a change. The timer reads a copy of the eventfd,
// because the library closes the original.
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

// follow fires the timer at each change, until the timer is closed.
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

// set arms the timer for a time of CLOCK_MONOTONIC, which must not be 0. The caller holds the lock.
func (t *timer) set(atNs uint64) {
	if atNs > math.MaxInt64 {
		atNs = math.MaxInt64
	}
	// The interval, which is zero, and the time.
	due := [2]syscall.Timespec{{}, syscall.NsecToTimespec(int64(atNs))}
	// This call fails once the file is closed; no goroutine waits then.
	_ = t.raw.Control(func(fd uintptr) {
		syscall.RawSyscall6(syscall.SYS_TIMERFD_SETTIME, fd, timerAbsolute, uintptr(unsafe.Pointer(&due)), 0, 0, 0)
	})
}

// wait returns when the timer has fired.
func (t *timer) wait() error {
	var count [8]byte
	_, err := io.ReadFull(t.file, count[:])
	return err
}

func (t *timer) close() {
	t.file.Close()
	t.changes.Close()
}
