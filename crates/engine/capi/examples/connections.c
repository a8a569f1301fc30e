/* Two threads with 16 connections each and an event loop, as in load generators for servers. One pacer has the
 * whole load; each thread has a poller, a timerfd and a list of free connections. Response times count
 * from the intended start. The other end of the connections is a thread that echoes all data. */
#include <inttypes.h>
#include <nanopace.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { THREADS = 2, CONNECTIONS = 16, SLOTS = 2000 };

struct connection {
    STAILQ_ENTRY(connection) next;
    int fd;
    uint64_t intended_ns;
};

struct worker {
    pthread_t thread;
    nanopace_pacer *pacer;
    nanopace_poller *poller;
    struct connection connections[CONNECTIONS];
    STAILQ_HEAD(, connection) free;
    int epoll, timer, in_flight;
    uint64_t timer_ns, answers, slowest_ns;
};

static int others[THREADS * CONNECTIONS];

/* Sends a request for each slot that is due while a connection is free, and sets the timer for the next slot. The
 * poller keeps a slot only while a connection waits for it. Returns false when no slot is left. */
static bool send_due(struct worker *worker)
{
    struct connection *connection;
    nanopace_grant grant;
    uint64_t due_ns;
    while ((connection = STAILQ_FIRST(&worker->free))) {
        nanopace_status status = nanopace_poller_poll(worker->poller, &grant, &due_ns);
        if (status > NANOPACE_STATUS_PAUSED)
            return false;
        if (status) {
            struct itimerspec due = {{0, 0}, {(time_t)(due_ns / 1000000000), (long)(due_ns % 1000000000)}};
            if (due_ns != worker->timer_ns)
                timerfd_settime(worker->timer, TFD_TIMER_ABSTIME, &due, NULL);
            worker->timer_ns = due_ns;
            return true;
        }
        STAILQ_REMOVE_HEAD(&worker->free, next);
        connection->intended_ns = grant.intended_start_ns;
        worker->in_flight += write(connection->fd, "?", 1) == 1;
    }
    return true;
}

static void receive(struct worker *worker, struct connection *connection)
{
    char answer;
    if (read(connection->fd, &answer, 1) != 1)
        return;
    uint64_t response_ns = nanopace_now(worker->pacer) - connection->intended_ns;
    worker->slowest_ns = response_ns > worker->slowest_ns ? response_ns : worker->slowest_ns;
    worker->answers++;
    worker->in_flight--;
    STAILQ_INSERT_TAIL(&worker->free, connection, next);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct epoll_event events[CONNECTIONS + 1];
    uint64_t count;
    while (send_due(worker) || worker->in_flight) {
        int ready = epoll_wait(worker->epoll, events, CONNECTIONS + 1, -1);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.ptr)
                receive(worker, events[i].data.ptr);
            else if (read(worker->timer, &count, sizeof count) != sizeof count)
                return NULL;
        }
    }
    nanopace_poller_free(worker->poller);
    return NULL;
}

static void *send_back(void *argument)
{
    (void)argument;
    struct pollfd ends[THREADS * CONNECTIONS];
    char question;
    for (int i = 0; i < THREADS * CONNECTIONS; i++)
        ends[i] = (struct pollfd){others[i], POLLIN, 0};
    while (poll(ends, THREADS * CONNECTIONS, -1) > 0)
        for (int i = 0; i < THREADS * CONNECTIONS; i++)
            if (ends[i].revents && (read(others[i], &question, 1) != 1 || write(others[i], "!", 1) != 1))
                return NULL;
    return NULL;
}

static void add(int epoll, int fd, void *connection)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static int start(struct worker *worker, int *other_ends)
{
    worker->epoll = epoll_create1(EPOLL_CLOEXEC);
    worker->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    add(worker->epoll, worker->timer, NULL);
    STAILQ_INIT(&worker->free);
    for (int i = 0; i < CONNECTIONS; i++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
            return 1;
        worker->connections[i].fd = pair[0];
        other_ends[i] = pair[1];
        add(worker->epoll, pair[0], &worker->connections[i]);
        STAILQ_INSERT_TAIL(&worker->free, &worker->connections[i], next);
    }
    return nanopace_poller_new(worker->pacer, &worker->poller)
        || pthread_create(&worker->thread, NULL, work, worker);
}

int main(void)
{
    static struct worker workers[THREADS];
    nanopace_options options = nanopace_options_default();
    nanopace_pacer *pacer;
    pthread_t other;
    uint64_t answers = 0, slowest_ns = 0;
    options.slots = SLOTS;
    options.start = NANOPACE_START_FIRST_USE;
    if (nanopace_new("10k/s", &options, &pacer))
        return 1;
    for (int i = 0; i < THREADS; i++) {
        workers[i].pacer = pacer;
        if (start(&workers[i], others + i * CONNECTIONS))
            return 1;
    }
    if (pthread_create(&other, NULL, send_back, NULL))
        return 1;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        answers += workers[i].answers;
        slowest_ns = workers[i].slowest_ns > slowest_ns ? workers[i].slowest_ns : slowest_ns;
    }
    printf("%" PRIu64 " responses, the slowest %" PRIu64 " us after its intended start\n", answers, slowest_ns / 1000);
    return nanopace_free(pacer) || answers != SLOTS;
}
