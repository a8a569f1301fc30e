import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Checks the behaviour of a pacer with threads, without a test library. */
final class Checks {
    private Checks() {}

    private static void check(boolean holds, Object... told) {
        if (!holds) {
            throw new AssertionError(List.of(told).toString());
        }
    }

    /** Returns all slots that a worker gets until the end of the load. */
    private static List<Pacer.Grant> all(Pacer pacer) throws InterruptedException {
        List<Pacer.Grant> grants = new ArrayList<>();
        try (Pacer.Poller poller = pacer.new Poller()) {
            while (true) {
                grants.add(poller.acquire());
            }
        } catch (Pacer.Over over) {
            return grants;
        }
    }

    private static void eachSlotStartsOnceAndNotBeforeItsTime(ExecutorService threads) throws Exception {
        List<Pacer.Grant> grants = new ArrayList<>();
        try (Pacer pacer = new Pacer("2k/s", 400)) {
            Callable<List<Pacer.Grant>> worker = () -> all(pacer);
            for (Future<List<Pacer.Grant>> some : threads.invokeAll(List.of(worker, worker, worker, worker))) {
                grants.addAll(some.get());
            }
        }
        grants.sort((one, other) -> Long.compare(one.slot(), other.slot()));
        check(grants.size() == 400, grants.size());
        for (int slot = 0; slot < 400; slot++) {
            Pacer.Grant grant = grants.get(slot);
            check(grant.slot() == slot, slot, grant);
            check(grant.intendedStartNs() == grants.get(0).intendedStartNs() + slot * 500_000L, grant);
            check(grant.actualStartNs() >= grant.intendedStartNs(), grant);
        }
    }

    /** Checks that more virtual threads than carriers can wait at once, and that a change reaches all of them. */
    private static void whoWaitsHoldsNoThreadAndFollowsChanges(ExecutorService threads) throws Exception {
        int workers = 50;
        List<Future<List<Pacer.Grant>>> waiting = new ArrayList<>();
        try (Pacer pacer = new Pacer("1/h", workers)) {
            CountDownLatch begun = new CountDownLatch(workers);
            for (int worker = 0; worker < workers; worker++) {
                waiting.add(threads.submit(() -> {
                    begun.countDown();
                    return all(pacer);
                }));
            }
            begun.await();
            pacer.setLoad("10k/s");
            int slots = 0;
            for (Future<List<Pacer.Grant>> some : waiting) {
                slots += some.get().size();
            }
            check(slots == workers, slots);
        }
    }

    private static void closingReachesWhoWaits(ExecutorService threads) throws Exception {
        Pacer pacer = new Pacer("1/h", 0);
        Future<List<Pacer.Grant>> waiting = threads.submit(() -> all(pacer));
        pacer.close();
        pacer.close();
        try {
            check(waiting.get().size() <= 1, waiting);
        } catch (ExecutionException late) { // the pacer was closed before the thread created its poller
            check(late.getCause() instanceof IllegalStateException, late);
        }
    }

    private static void whoIsInterruptedKeepsTheSlot() throws Exception {
        try (Pacer pacer = new Pacer("1/h", 0); Pacer.Poller poller = pacer.new Poller()) {
            check(poller.acquire().slot() == 0);
            Thread.currentThread().interrupt();
            try {
                poller.acquire();
                check(false, "acquire was not interrupted");
            } catch (InterruptedException expected) {
                pacer.setLoad("1k/s");
            }
            check(poller.acquire().slot() == 1);
        }
    }

    private static void whatIsWrongIsToldInWords() {
        try {
            new Pacer("5k/fortnight", 0).close();
            check(false, "an invalid load was accepted");
        } catch (IllegalStateException told) {
            check(told.getMessage().contains("fortnight"), told);
        }
    }

    public static void main(String[] words) throws Exception {
        for (ExecutorService threads : List.of(
                Executors.newVirtualThreadPerTaskExecutor(), Executors.newCachedThreadPool())) {
            try (threads) {
                eachSlotStartsOnceAndNotBeforeItsTime(threads);
                whoWaitsHoldsNoThreadAndFollowsChanges(threads);
                closingReachesWhoWaits(threads);
            }
        }
        whoIsInterruptedKeepsTheSlot();
        whatIsWrongIsToldInWords();
        System.out.println("all checks passed");
    }
}
