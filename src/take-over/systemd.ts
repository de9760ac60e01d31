import { closeSync } from "node:fs";
import { StartError } from "../errors.ts";
import { inheritedSocket } from "../http/sockets/inherited-socket.ts";
import { type PlaneSockets, planes } from "./messages.ts";
import { connectUnix, sendOn } from "./unix-socket.ts";

/** First file descriptor that systemd passes to a service. */
const FIRST_FD = 3;
/**
 * Returns the listening sockets that systemd has opened for this process (sd_listen_fds(3)), by
 * plane; an empty object if there are none. Throws `StartError` for a socket that is unusable or is
 * not named after a plane.
 */
export function activatedSockets(environment: Record<string, string | undefined>): PlaneSockets {
  const { LISTEN_FDS = "", LISTEN_PID, LISTEN_FDNAMES = "" } = environment;
  // Variables for another process, inherited by accident.
  if (LISTEN_PID !== String(process.pid)) return {};
  const names = LISTEN_FDNAMES.split(":");
  const sockets: PlaneSockets = {};
  for (let at = 0; at < Number(LISTEN_FDS); at++) {
    const name = names[at] || "without a name";
    const plane = planes.find((it) => it === name);
    if (plane === undefined || sockets[plane] !== undefined) {
      const expected = planes.join(", ");
      throw new StartError(
        `Expected sockets of systemd with FileDescriptorName= one of ${expected}, each once, got ${name}`,
      );
    }
    const socket = inheritedSocket(FIRST_FD + at);
    if (socket === undefined) {
      throw new StartError(`Expected the socket ${name} of systemd to be a ListenStream= of TCP`);
    }
    sockets[plane] = socket;
  }
  return sockets;
}

/**
 * Tells systemd about a change of this server's state (sd_notify(3)). Does nothing without systemd.
 */
export function notifySystemd(state: "READY=1" | "STOPPING=1", path: string | undefined): void {
  if (path === undefined || path === "") return;
  try {
    using stack = new DisposableStack();
    const fd = connectUnix(path, "datagram");
    stack.defer(() => closeSync(fd));
    sendOn(fd, Buffer.from(state));
  } catch {
    // The service manager has ended, so it needs no message.
  }
}
