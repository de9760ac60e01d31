import { FFIType, ptr } from "bun:ffi";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { libcFunctions } from "../../libc.ts";
import { isListening } from "./inherited-socket.ts";

const EPOLL_CTL_ADD = 1;
const O_CLOEXEC = 0o2000000;
const DESCRIPTORS = "/proc/self/fd";

/**
 * Returns the file descriptor of the listening socket that `listen` opens, because `Bun.serve` does
 * not report it. Calls `listen`, which must open one such socket before it returns. Bun still owns
 * the descriptor and closes it.
 */
export function descriptorOfListener(listen: () => void): number {
  const before = new Set(descriptors().values());
  listen();
  const found = [...descriptors()].find(([fd, target]) => !before.has(target) && isListening(fd));
  if (found === undefined) throw new Error("Cannot find the file descriptor of a listener");
  return found[0];
}

/**
 * Makes a listener of `Bun.serve` (descriptor `fd`) accept connections from an existing socket,
 * which `Bun.serve` itself cannot do. Closes the listener's own socket; `socketFd` stays open.
 * Registers `fd` with Bun's epoll instance again, because replacing the socket removes it. Throws
 * if a system call fails.
 */
export function replaceSocket(fd: number, socketFd: number): void {
  const watch = watchOf(fd);
  const { dup3, epoll_ctl } = open();
  // `struct epoll_event` is packed on x86-64 alone.
  const dataAt = process.arch === "x64" ? 4 : 8;
  const event = Buffer.alloc(dataAt + 8);
  event.writeUInt32LE(watch.events, 0);
  event.writeBigUInt64LE(watch.data, dataAt);
  const isReplaced =
    dup3(socketFd, fd, O_CLOEXEC) === fd &&
    epoll_ctl(watch.epoll, EPOLL_CTL_ADD, fd, ptr(event)) === 0;
  if (!isReplaced) throw new Error(`Cannot accept from descriptor ${socketFd}`);
}

/**
 * Returns the epoll instance through which Bun's event loop watches a file descriptor, and the
 * events and data with which the descriptor is registered (see proc_pid_fdinfo(5)).
 */
function watchOf(fd: number) {
  for (const [epoll, target] of descriptors()) {
    if (target !== "anon_inode:[eventpoll]") continue;
    const info = readFileSync(`/proc/self/fdinfo/${epoll}`, "latin1");
    const pattern = new RegExp(
      `^tfd:\\s+${fd}\\s+events:\\s+([0-9a-f]+)\\s+data:\\s+([0-9a-f]+)`,
      "m",
    );
    const [, events, data] = pattern.exec(info) ?? [];
    if (events !== undefined) {
      return {
        /** File descriptor of the epoll instance that watches `fd`. */
        epoll,
        events: Number.parseInt(events, 16),
        data: BigInt(`0x${data}`),
      };
    }
  }
  throw new Error(`Cannot find how the event loop waits for descriptor ${fd}`);
}

/** Returns the file or socket to which each open file descriptor of this process refers. */
function descriptors(): Map<number, string> {
  return new Map(
    readdirSync(DESCRIPTORS).map((fd) => {
      try {
        return [Number(fd), readlinkSync(`${DESCRIPTORS}/${fd}`)];
      } catch {
        // The descriptor with which the directory was read is closed by now.
        return [Number(fd), ""];
      }
    }),
  );
}

const open = libcFunctions({
  dup3: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
  epoll_ctl: {
    args: [FFIType.i32, FFIType.i32, FFIType.i32, FFIType.ptr],
    returns: FFIType.i32,
  },
});
