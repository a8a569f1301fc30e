import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Locale;

/** What a slot that is due costs, by each way to take one. Some seconds. */
final class Figures {
    private static final int SLOTS = 1_000_000;
    private static final int ROUNDS = 20;

    private Figures() {}

    /** The least time for a slot: other programs only ever add to it. */
    private static void show(String name, Nanopace.Call call) {
        long leastNs = Long.MAX_VALUE;
        for (int round = 0; round < ROUNDS; round++) {
            long began = System.nanoTime();
            for (int slot = 0; slot < SLOTS; slot++) {
                Nanopace.check(call);
            }
            leastNs = Math.min(leastNs, System.nanoTime() - began);
        }
        System.out.printf(Locale.ROOT, "%-24s %5.1f ns%n", name, (double) leastNs / SLOTS);
    }

    public static void main(String[] words) {
        try (Arena arena = Arena.ofConfined(); Pacer pacer = new Pacer("10G/s", 0)) {
            MemorySegment grant = arena.allocate(Nanopace.GRANT);
            MemorySegment none = MemorySegment.NULL;
            MemorySegment shared = pacer.open();
            MemorySegment lane = pacer.made(Nanopace.LANE_NEW);
            MemorySegment poller = pacer.made(Nanopace.POLLER_NEW);
            show("nanopace_acquire", () -> (int) Nanopace.ACQUIRE.invokeExact(shared, grant));
            show("nanopace_lane_acquire", () -> (int) Nanopace.LANE_ACQUIRE.invokeExact(lane, grant));
            show("nanopace_poller_poll", () -> (int) Nanopace.POLLER_POLL.invokeExact(poller, grant, none));
            Nanopace.check(() -> (int) Nanopace.LANE_FREE.invokeExact(lane));
            Nanopace.check(() -> (int) Nanopace.POLLER_FREE.invokeExact(poller));
        }
    }
}
