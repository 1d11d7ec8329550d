/*
 * Loaded into a process by LD_PRELOAD, so that a test can set the process's clock and slow its disk while it runs. The
 * file that FAULT_DIALS names holds two 64-bit integers, in the byte order of the machine:
 *
 *   0  what is added to the time of day, in seconds; the monotonic clock is left alone, as by a clock that is set
 *   1  how long each fsync and fdatasync takes longer, in milliseconds
 *
 * No lock and no allocation: both are called from signal handlers and while a garbage collector holds other threads.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t at_rest[2];
static const volatile int64_t *dials = at_rest;

__attribute__((constructor)) static void open_dials(void) {
  const char *path = getenv("FAULT_DIALS");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *mapped = mmap(NULL, sizeof at_rest, PROT_READ, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) dials = mapped;
  close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  if (syscall(SYS_clock_gettime, clock, now) != 0) return -1;
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += dials[0];
  return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec exact;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *copy) {
  struct timespec exact;
  if (clock_gettime(CLOCK_REALTIME, &exact) != 0) return -1;
  if (copy) *copy = exact.tv_sec;
  return exact.tv_sec;
}

static void wait_for_disk(void) {
  int64_t milliseconds = dials[1];
  struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  while (milliseconds > 0 && nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

int fsync(int file) {
  wait_for_disk();
  return (int)syscall(SYS_fsync, file);
}

int fdatasync(int file) {
  wait_for_disk();
  return (int)syscall(SYS_fdatasync, file);
}
