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
    /** A slot that may start now. Times are those of {@link System#nanoTime}. */
    record Grant(long intendedStartNs, long actualStartNs, long waitNs, long slot) {
        /** Returns the time since the intended start. At the end of an operation, this is its response time. */
        long responseNs() {
            return System.nanoTime() - intendedStartNs;
        }
    }

    /** Thrown if the load has no slot left, or if the pacer is closed. */
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
     * Creates a pacer for a load: a rate such as "5k/s", or a shape such as "ramp 100/s..5k/s 30s, hold 60s". Slot 0
     * starts when a worker first asks for a slot. The load ends after the given number of slots; 0 means no end.
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

    /** A worker's handle. One thread at a time may use it; the thread may be virtual. */
    final class Poller implements AutoCloseable {
        private final MemorySegment poller = made(Nanopace.POLLER_NEW);
        private final MemorySegment grant = Arena.ofAuto().allocate(Nanopace.GRANT);
        private final MemorySegment due = Arena.ofAuto().allocate(JAVA_LONG);

        /**
         * Parks the thread until the next slot's intended start. In a blocking C call, a virtual thread would hold
         * its carrier. If the thread is interrupted, this handle keeps the slot for the next call.
         */
        Grant acquire() throws Over, InterruptedException {
            // From this line on, a change of the load unparks the thread, so no change before the park is missed.
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
            long dueNs = due.get(JAVA_LONG, 0); // UINT64_MAX, which is -1 in Java, means never by the current schedule
            LockSupport.parkNanos(dueNs < 0 ? Long.MAX_VALUE : dueNs - System.nanoTime());
        }

        private long read(String field) {
            return grant.get(JAVA_LONG, Nanopace.GRANT.byteOffset(PathElement.groupElement(field)));
        }

        /** Gives back the slot of this worker, if it has one. Another worker gets the slot. */
        @Override
        public void close() {
            Nanopace.check(() -> (int) Nanopace.POLLER_FREE.invokeExact(poller));
        }
    }

    /** Changes the load. The change also applies to waiting threads. */
    void setLoad(String load) {
        MemorySegment pacer = open();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocateFrom(load);
            Nanopace.check(() -> (int) Nanopace.SET_LOAD.invokeExact(pacer, text));
        }
        waiting.forEach(LockSupport::unpark);
    }

    /** Ends the load. Waiting and later calls of {@link Poller#acquire} throw {@link Over}. */
    @Override
    public void close() {
        if (isClosed.compareAndSet(false, true)) {
            Nanopace.check(() -> (int) Nanopace.FREE.invokeExact(pacer));
            waiting.forEach(LockSupport::unpark);
        }
    }

    /** Returns a handle that the C function {@code maker} creates for this pacer. */
    MemorySegment made(MethodHandle maker) {
        MemorySegment pacer = open();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment made = arena.allocate(ADDRESS);
            Nanopace.check(() -> (int) maker.invokeExact(pacer, made));
            return made.get(ADDRESS, 0);
        }
    }

    /** Returns the handle of the C pacer. Throws an exception if this pacer has been closed. */
    MemorySegment open() {
        if (isClosed.get()) {
            throw new IllegalStateException("the pacer is closed");
        }
        return pacer;
    }
}
