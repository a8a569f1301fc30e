import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;

/**
 * Loads its own HTTP server as JMeter's thread groups do: each of many threads (here, virtual threads) asks its
 * timer how long to sleep, and then makes its call. Response times count from the intended start.
 */
final class Attack {
    private static final String LOAD = "ramp 100/s..1k/s 1s, hold 1k/s 1s";
    private static final int SLOTS = 1_500;
    private static final int THREADS = 100;

    /** Has the method that JMeter calls on a timer. The method returns how many milliseconds to sleep. */
    interface Timer {
        long delay();
    }

    /** A timer whose method waits until the slot is due, and returns 0. The timer keeps the grant for the sampler. */
    static final class PacedTimer implements Timer {
        private final Pacer.Poller poller;
        Pacer.Grant grant;
        boolean isOver;

        PacedTimer(Pacer.Poller poller) {
            this.poller = poller;
        }

        @Override
        public long delay() {
            try {
                grant = poller.acquire();
            } catch (Pacer.Over | InterruptedException over) {
                isOver = true;
            }
            return 0;
        }
    }

    private final HttpClient client = HttpClient.newHttpClient();
    private final ConcurrentHashMap<Long, Long> responses = new ConcurrentHashMap<>();

    /** Runs one thread of the group. */
    private void work(Pacer pacer, HttpRequest request) {
        try (Pacer.Poller poller = pacer.new Poller()) {
            PacedTimer timer = new PacedTimer(poller);
            while (true) {
                Thread.sleep(timer.delay());
                if (timer.isOver) {
                    return;
                }
                client.send(request, BodyHandlers.discarding());
                responses.put(timer.grant.slot(), timer.grant.responseNs());
            }
        } catch (IOException | InterruptedException failed) {
            System.err.println(failed);
        }
    }

    private void run(URI server) {
        HttpRequest request = HttpRequest.newBuilder(server).build();
        try (Pacer pacer = new Pacer(LOAD, SLOTS);
                var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int thread = 0; thread < THREADS; thread++) {
                threads.submit(() -> work(pacer, request));
            }
        }
    }

    /** Checks that each slot got one response. */
    private boolean report() {
        List<Long> times = new ArrayList<>(responses.values());
        times.sort(null);
        System.out.printf("%d of %d slots got a response%n", times.size(), SLOTS);
        if (times.size() != SLOTS) {
            return false;
        }
        long p50 = times.get(SLOTS / 2) / 1_000;
        long p99 = times.get(SLOTS * 99 / 100) / 1_000;
        System.out.printf("response times: p50 %d us, p99 %d us%n", p50, p99);
        return true;
    }

    public static void main(String[] words) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(204, -1);
            exchange.close();
        });
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.start();
        Attack attack = new Attack();
        attack.run(URI.create("http://localhost:" + server.getAddress().getPort() + "/"));
        server.stop(0);
        System.exit(attack.report() ? 0 : 1);
    }
}
