import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/** Links the functions of nanopace.h that {@link Pacer} needs, on 64-bit systems. */
final class Nanopace {
    static final int OK = 0;
    static final int PAUSED = 2;
    static final int FINISHED = 3;
    static final int CLOSED = 4;
    static final int START_FIRST_USE = 2;

    /** The layout of nanopace_options. Zero in a field means its default. */
    static final StructLayout OPTIONS = MemoryLayout.structLayout(
            JAVA_LONG.withName("size"),
            ADDRESS.withName("arrivals"),
            ADDRESS.withName("shard"),
            ADDRESS.withName("pause"),
            JAVA_LONG.withName("seed"),
            JAVA_DOUBLE.withName("strictness"),
            JAVA_LONG.withName("max_backlog_ns"),
            JAVA_LONG.withName("skip_later_than_ns"),
            JAVA_LONG.withName("sleep_threshold_ns"),
            JAVA_LONG.withName("tolerance_ns"),
            JAVA_DOUBLE.withName("sleep_share"),
            JAVA_DOUBLE.withName("spin_share"),
            JAVA_LONG.withName("slots"),
            JAVA_LONG.withName("until_ns"),
            JAVA_INT.withName("clock"),
            JAVA_INT.withName("start"));

    /** The layout of nanopace_grant. */
    static final StructLayout GRANT = MemoryLayout.structLayout(
            JAVA_LONG.withName("intended_start_ns"),
            JAVA_LONG.withName("actual_start_ns"),
            JAVA_LONG.withName("wait_ns"),
            JAVA_LONG.withName("slot"));

    private static final SymbolLookup LIBRARY = SymbolLookup.libraryLookup(
            System.getProperty("nanopace.library", "libnanopace_capi.so"), Arena.global());

    // No function is linked as `critical`, because the garbage collector waits while such a call blocks.
    static final MethodHandle NEW = handle("nanopace_new", ADDRESS, ADDRESS, ADDRESS);
    static final MethodHandle FREE = handle("nanopace_free", ADDRESS);
    static final MethodHandle SET_LOAD = handle("nanopace_set_load", ADDRESS, ADDRESS);
    static final MethodHandle ACQUIRE = handle("nanopace_acquire", ADDRESS, ADDRESS);
    static final MethodHandle LANE_NEW = handle("nanopace_lane_new", ADDRESS, ADDRESS);
    static final MethodHandle LANE_FREE = handle("nanopace_lane_free", ADDRESS);
    static final MethodHandle LANE_ACQUIRE = handle("nanopace_lane_acquire", ADDRESS, ADDRESS);
    static final MethodHandle POLLER_NEW = handle("nanopace_poller_new", ADDRESS, ADDRESS);
    static final MethodHandle POLLER_FREE = handle("nanopace_poller_free", ADDRESS);
    static final MethodHandle POLLER_POLL = handle("nanopace_poller_poll", ADDRESS, ADDRESS, ADDRESS);
    private static final MethodHandle DESCRIBE = function(
            "nanopace_describe", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG));

    private Nanopace() {}

    private static MethodHandle handle(String name, MemoryLayout... arguments) {
        return function(name, FunctionDescriptor.of(JAVA_INT, arguments));
    }

    private static MethodHandle function(String name, FunctionDescriptor descriptor) {
        return Linker.nativeLinker().downcallHandle(LIBRARY.findOrThrow(name), descriptor);
    }


    /** A call of C that returns a status. */
    interface Call {
        int status() throws Throwable;
    }

    /** Returns the status of a call. The C function itself throws nothing. */
    static int status(Call call) {
        try {
            return call.status();
        } catch (RuntimeException | Error thrown) {
            throw thrown;
        } catch (Throwable thrown) {
            throw new IllegalStateException(thrown);
        }
    }

    /** Makes a call, and throws an exception if its status is not OK. */
    static void check(Call call) {
        int status = status(call);
        if (status != OK) {
            throw new IllegalStateException(describe(status));
        }
    }

    /** Describes a status, with details if it is the status of this thread's last failure. */
    static String describe(int status) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(200);
            status(() -> (int) (long) DESCRIBE.invokeExact(status, text, text.byteSize()));
            return text.getString(0);
        }
    }
}
