/*
 * recorder: a FUSE file system with one file, `disk`, that is kept in BACKING while every write,
 * discard and flush is appended to JOURNAL. A loop device over `disk` carries a real file system,
 * so that the journal holds what the block layer was asked to do, in order.
 *
 *   recorder MOUNTPOINT BACKING SIZE_BYTES JOURNAL COUNTER FLUSH_US
 *
 * JOURNAL: records of { u32 operation, u32 length, u64 offset }, little-endian; after a write's
 * record follow its bytes. Operations: 1 write (noted when it has completed), 2 flush begun,
 * 3 flush done, 4 discard, whose range reads as zeros.
 * COUNTER: a mapped u64, the number of records so far. A client that has got an answer reads it:
 * all that the answer promises was asked of the disk before that record.
 * FLUSH_US: how long a flush takes, so that writes gather behind it as on a slow disk.
 */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WRITE = 1, FLUSH_BEGUN = 2, FLUSH_DONE = 3, DISCARD = 4 };
enum { DISCARD_STEP = 1 << 30 };

struct record {
  uint32_t operation, length;
  uint64_t offset;
};

static int backing, journal;
static off_t disk_bytes;
static useconds_t flush_us;
static uint64_t *counter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void note(uint32_t operation, const char *data, uint32_t length, uint64_t offset) {
  struct record record = {operation, length, offset};
  pthread_mutex_lock(&lock);
  if (write(journal, &record, sizeof record) != sizeof record) abort();
  if (operation == WRITE && write(journal, data, length) != (ssize_t)length) abort();
  __atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
  pthread_mutex_unlock(&lock);
}

static int disk_getattr(const char *path, struct stat *stat, struct fuse_file_info *info) {
  (void)info;
  memset(stat, 0, sizeof *stat);
  if (strcmp(path, "/") == 0) {
    stat->st_mode = S_IFDIR | 0755;
    stat->st_nlink = 2;
    return 0;
  }
  if (strcmp(path, "/disk") != 0) return -ENOENT;
  stat->st_mode = S_IFREG | 0600;
  stat->st_nlink = 1;
  stat->st_size = disk_bytes;
  stat->st_blocks = disk_bytes / 512;
  return 0;
}

static int disk_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset,
                        struct fuse_file_info *info, enum fuse_readdir_flags flags) {
  (void)path, (void)offset, (void)info, (void)flags;
  fill(buffer, "disk", NULL, 0, 0);
  return 0;
}

static int disk_open(const char *path, struct fuse_file_info *info) {
  if (strcmp(path, "/disk") != 0) return -ENOENT;
  info->direct_io = 1;
  return 0;
}

static int disk_read(const char *path, char *data, size_t length, off_t offset,
                     struct fuse_file_info *info) {
  (void)path, (void)info;
  ssize_t got = pread(backing, data, length, offset);
  return got < 0 ? -errno : (int)got;
}

static int disk_write(const char *path, const char *data, size_t length, off_t offset,
                      struct fuse_file_info *info) {
  (void)path, (void)info;
  ssize_t put = pwrite(backing, data, length, offset);
  if (put < 0) return -errno;
  note(WRITE, data, (uint32_t)put, (uint64_t)offset);
  return (int)put;
}

static int disk_fsync(const char *path, int data_only, struct fuse_file_info *info) {
  (void)path, (void)data_only, (void)info;
  note(FLUSH_BEGUN, NULL, 0, 0);
  if (flush_us > 0) usleep(flush_us);
  note(FLUSH_DONE, NULL, 0, 0);
  return 0;
}

static int disk_fallocate(const char *path, int mode, off_t offset, off_t length,
                          struct fuse_file_info *info) {
  (void)path, (void)info;
  if (!(mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))) return -EOPNOTSUPP;
  int hole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  if (fallocate(backing, hole, offset, length) < 0) return -errno;
  while (length > 0) {
    uint32_t step = length > DISCARD_STEP ? DISCARD_STEP : (uint32_t)length;
    note(DISCARD, NULL, step, (uint64_t)offset);
    offset += step;
    length -= step;
  }
  return 0;
}

static const struct fuse_operations operations = {
    .getattr = disk_getattr,
    .readdir = disk_readdir,
    .open = disk_open,
    .read = disk_read,
    .write = disk_write,
    .fsync = disk_fsync,
    .fallocate = disk_fallocate,
};

int main(int count, char **words) {
  if (count != 7) {
    fprintf(stderr, "recorder MOUNTPOINT BACKING SIZE_BYTES JOURNAL COUNTER FLUSH_US\n");
    return 2;
  }
  disk_bytes = atoll(words[3]);
  flush_us = (useconds_t)atoi(words[6]);
  backing = open(words[2], O_RDWR | O_CREAT, 0600);
  journal = open(words[4], O_WRONLY | O_CREAT | O_TRUNC, 0600);
  int counted = open(words[5], O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (backing < 0 || journal < 0 || counted < 0 || ftruncate(backing, disk_bytes) != 0 ||
      ftruncate(counted, 4096) != 0) {
    perror("recorder");
    return 1;
  }
  counter = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, counted, 0);
  if (counter == MAP_FAILED) {
    perror("recorder");
    return 1;
  }
  char *fuse_words[] = {words[0], words[1], "-f", "-o", "allow_other", NULL};
  return fuse_main(5, fuse_words, &operations, NULL);
}
