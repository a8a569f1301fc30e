import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Measures the lateness of slots that a thread waits for, and the cost of a due slot for each way to acquire it. */
final class Figures {
    private static final int SLOTS = 1_000_000;
    private static final int ROUNDS = 20;

    private Figures() {}

    /** Shows the shortest time per slot of many rounds, because other programs can only make a round slower. */
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

    /** Shows the lateness of slots that a virtual thread waits for, after a warm-up of one second. */
    private static void showLateness() {
        List<Long> late = new ArrayList<>();
        try (Pacer pacer = new Pacer("1k/s", 4_000); Pacer.Poller poller = pacer.new Poller()) {
            while (true) {
                late.add(poller.acquire().waitNs());
            }
        } catch (Pacer.Over | InterruptedException over) {
            late = new ArrayList<>(late.subList(1_000, late.size()));
        }
        late.sort(null);
        long p50 = late.get(late.size() / 2) / 1_000;
        long p99 = late.get(late.size() * 99 / 100) / 1_000;
        System.out.printf("at 1k/s                  p50 %d us late, p99 %d us%n", p50, p99);
    }

    public static void main(String[] words) throws InterruptedException {
        Thread.startVirtualThread(Figures::showLateness).join();
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
