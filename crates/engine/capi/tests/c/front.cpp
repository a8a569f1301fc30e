// The C++ header: handles free themselves, and errors are thrown.
#include <nanopace.hpp>

#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(bool is_so, int line) {
  if (is_so) return;
  std::fprintf(stderr, "front.cpp:%d: not so\n", line);
  std::exit(1);
}
#define CHECK(condition) check(condition, __LINE__)

int main() {
  auto options = nanopace::default_options();
  options.clock = NANOPACE_CLOCK_JUMPING;
  nanopace::pacer pacer("hold 10/s 2s", options);
  std::vector<nanopace::lane> lanes;
  for (int i = 0; i < 2; i++) lanes.emplace_back(pacer);
  nanopace::poller poller(pacer);
  nanopace::grant grant;
  CHECK(pacer.acquire(grant) && grant.slot == 0);
  CHECK(lanes[0].acquire(grant) && grant.slot == 1);
  CHECK(poller.poll(grant) == NANOPACE_STATUS_NOT_YET);
  CHECK(poller.wait_for(1, grant) == NANOPACE_STATUS_NOT_YET);
  pacer.advance(130'000'000);
  CHECK(poller.poll(grant) == NANOPACE_STATUS_OK && grant.wait_ns == 30'000'001);
  CHECK(pacer.try_acquire(grant) == NANOPACE_STATUS_NOT_YET);
  CHECK(pacer.acquire_for(1, grant) == NANOPACE_STATUS_NOT_YET);
  CHECK(lanes[0].try_acquire(grant) == NANOPACE_STATUS_NOT_YET);
  pacer.pause();
  CHECK(pacer.try_acquire(grant) == NANOPACE_STATUS_PAUSED);
  pacer.resume();
  CHECK(pacer.acquire_many(2, grant));
  {
    nanopace::claim claim(pacer, 2);
    CHECK(claim.start(grant) == NANOPACE_STATUS_NOT_YET);
    CHECK(claim.wait_for(1, grant) == NANOPACE_STATUS_NOT_YET);
  }  // its slots go back
  lanes[0].give_back();
  nanopace::lane moved = std::move(lanes[1]);
  lanes.clear();
  std::uint64_t slots = 5;
  while (moved.acquire(grant)) slots++;
  CHECK(slots == 20 && pacer.ledger().granted == 20);
  CHECK(pacer.try_acquire(grant) == NANOPACE_STATUS_FINISHED);
  CHECK(pacer.acquire_for(1, grant) == NANOPACE_STATUS_FINISHED);
  CHECK(moved.try_acquire(grant) == NANOPACE_STATUS_FINISHED);
  pacer.set_load("10/s");
  CHECK(pacer.acquire(grant));
  try {
    pacer.set_load("ten");
    CHECK(false);
  } catch (const nanopace::error &wrong) {
    CHECK(wrong.code() == NANOPACE_STATUS_WRONG && std::string(wrong.what()).rfind("column 1", 0) == 0);
  }
  {
    std::vector<nanopace::claim> far;  // more than 2^44 slots
    for (int i = 0; i < 4097; i++) far.emplace_back(pacer, UINT32_MAX);
    try {
      pacer.acquire_many(2, grant);
      CHECK(false);
    } catch (const nanopace::error &too_far) {
      CHECK(too_far.code() == NANOPACE_STATUS_TOO_FAR_AHEAD);
    }
  }
  pacer.close();
  CHECK(!pacer.acquire(grant) && pacer.now() > 0);
  CHECK(pacer.try_acquire(grant) == NANOPACE_STATUS_CLOSED);
  CHECK(moved.try_acquire(grant) == NANOPACE_STATUS_CLOSED);
}
