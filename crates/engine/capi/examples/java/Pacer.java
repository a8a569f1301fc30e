import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * Hands out the slots of a load to any number of workers, each of which has a {@link Poller}. Every operation
 * starts on schedule, or its grant reports how late it is.
 */
final class Pacer implements AutoCloseable {
    /** A slot that may start now. Moments are those of {@link System#nanoTime}. */
    record Grant(long intendedStartNs, long actualStartNs, long waitNs, long slot) {
        /** The time from the intended start until now. At the end of an operation, it is the response time. */
        long responseNs() {
            return System.nanoTime() - intendedStartNs;
        }
    }

    /** The load has no slot left, or the pacer is closed. */
    static final class Over extends Exception {
        private static final long serialVersionUID = 1;

        Over(int status) {
            super(Nanopace.describe(status));
        }
    }

    private final MemorySegment pacer;
    private final AtomicBoolean isClosed = new AtomicBoolean();
    private final Set<Thread> waiting = ConcurrentHashMap.newKeySet();

    /**
     * Makes a pacer for a load: a rate such as "5k/s", or a shape such as "ramp 100/s..5k/s 30s, hold 60s". Slot 0
     * starts when a worker first asks for one. The load ends after this many slots; 0 means no end.
     */
    Pacer(String load, long slots) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocateFrom(load);
            MemorySegment options = arena.allocate(Nanopace.OPTIONS);
            options.set(JAVA_LONG, offset("size"), options.byteSize());
            options.set(JAVA_LONG, offset("slots"), slots);
            options.set(JAVA_INT, offset("start"), Nanopace.START_FIRST_USE);
            MemorySegment made = arena.allocate(ADDRESS);
            Nanopace.check(() -> (int) Nanopace.NEW.invokeExact(text, options, made));
            pacer = made.get(ADDRESS, 0);
        }
    }

    private static long offset(String option) {
        return Nanopace.OPTIONS.byteOffset(PathElement.groupElement(option));
    }

    /** A worker's handle, for one thread at a time, which may be virtual. */
    final class Poller implements AutoCloseable {
        private final MemorySegment poller = made(Nanopace.POLLER_NEW);
        private final MemorySegment grant = Arena.ofAuto().allocate(Nanopace.GRANT);
        private final MemorySegment due = Arena.ofAuto().allocate(JAVA_LONG);

        /**
         * Waits for the next slot's intended start, parked: in a blocking C call, a virtual thread would
         * hold its carrier. An interrupted thread keeps the slot for the next call.
         */
        Grant acquire() throws Over, InterruptedException {
            // From here on a change of the load unparks the thread: no change is missed between the poll and the park.
            waiting.add(Thread.currentThread());
            try {
                for (int status = poll(); status != Nanopace.OK; status = poll()) {
                    park(status);
                }
            } finally {
                waiting.remove(Thread.currentThread());
            }
            return new Grant(read("intended_start_ns"), read("actual_start_ns"), read("wait_ns"), read("slot"));
        }

        private int poll() {
            return Nanopace.status(() -> (int) Nanopace.POLLER_POLL.invokeExact(poller, grant, due));
        }

        private void park(int status) throws Over, InterruptedException {
            if (status > Nanopace.PAUSED) {
                throw new Over(status);
            }
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            long dueNs = due.get(JAVA_LONG, 0); // UINT64_MAX, which is -1 here: never, by the current schedule
            LockSupport.parkNanos(dueNs < 0 ? Long.MAX_VALUE : dueNs - System.nanoTime());
        }

        private long read(String field) {
            return grant.get(JAVA_LONG, Nanopace.GRANT.byteOffset(PathElement.groupElement(field)));
        }

        /** Gives back the slot of this worker, if any: another worker gets it. */
        @Override
        public void close() {
            Nanopace.check(() -> (int) Nanopace.POLLER_FREE.invokeExact(poller));
        }
    }

    /** Changes the load. The change also reaches waiting threads. */
    void setLoad(String load) {
        MemorySegment pacer = open();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocateFrom(load);
            Nanopace.check(() -> (int) Nanopace.SET_LOAD.invokeExact(pacer, text));
        }
        waiting.forEach(LockSupport::unpark);
    }

    /** Ends the load: waiting threads return, and so do all later polls. */
    @Override
    public void close() {
        if (isClosed.compareAndSet(false, true)) {
            Nanopace.check(() -> (int) Nanopace.FREE.invokeExact(pacer));
            waiting.forEach(LockSupport::unpark);
        }
    }

    /** A handle that C makes from this pacer. */
    MemorySegment made(MethodHandle maker) {
        MemorySegment pacer = open();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment made = arena.allocate(ADDRESS);
            Nanopace.check(() -> (int) maker.invokeExact(pacer, made));
            return made.get(ADDRESS, 0);
        }
    }

    /** C's handle, until it is freed. */
    MemorySegment open() {
        if (isClosed.get()) {
            throw new IllegalStateException("the pacer is closed");
        }
        return pacer;
    }
}
