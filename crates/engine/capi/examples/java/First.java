/** Starts a thousand operations on schedule. */
final class First {
    private static long slowestNs;

    private First() {}

    private static void sendRequest() {} // your operation

    private static void record(long responseNs) { // your histogram
        slowestNs = Math.max(slowestNs, responseNs);
    }

    private static void run() throws InterruptedException {
        try (Pacer pacer = new Pacer("5k/s", 1_000); Pacer.Poller poller = pacer.new Poller()) {
            while (true) {
                Pacer.Grant grant = poller.acquire(); // parks the thread until the slot's intended start
                sendRequest();
                record(grant.responseNs()); // from the intended start
            }
        } catch (Pacer.Over over) {
            return; // no slot is left
        }
    }

    public static void main(String[] words) throws InterruptedException {
        Thread worker = Thread.startVirtualThread(() -> {
            try {
                run();
            } catch (InterruptedException interrupted) {
                System.err.println(interrupted);
            }
        });
        worker.join();
        System.out.printf("the slowest took %d us%n", slowestNs / 1_000);
    }
}
