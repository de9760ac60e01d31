import type { Agent } from "node:http";
import type { Duplex } from "node:stream";

/**
 * Bounds the connections that agents keep for later, all of them together: beyond `max` the one
 * that is idle for longest is closed. By itself an agent bounds them per address and port, and
 * user code can have any number of ports; `maxTotalSockets` would count busy ones as well, so that
 * dead receivers hold up all others.
 */
export function boundIdle(agents: readonly Agent[], max: number): void {
  const idle = new Set<Duplex>();

  function keep(socket: Duplex): void {
    idle.add(socket);
    socket.on("close", closed);
    if (idle.size <= max) return;
    const oldest = idle.values().next().value!;
    forget(oldest);
    oldest.destroy();
  }

  function forget(socket: Duplex): void {
    idle.delete(socket);
    socket.off("close", closed);
  }

  function closed(this: Duplex): void {
    forget(this);
  }

  for (const agent of agents) {
    const { keepSocketAlive, reuseSocket } = agent;
    agent.keepSocketAlive = (socket) => {
      keep(socket);
      return keepSocketAlive.call(agent, socket);
    };
    agent.reuseSocket = (socket, request) => {
      forget(socket);
      reuseSocket.call(agent, socket, request);
    };
  }
}
