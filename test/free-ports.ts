import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:net";

/** File with the range of ephemeral ports, which the kernel assigns to outgoing connections. */
const EPHEMERAL = "/proc/sys/net/ipv4/ip_local_port_range";
const firstEphemeral = Number(readFileSync(EPHEMERAL, "latin1").split("\t")[0]);
const FIRST = 10_000;
const span = Math.max(firstEphemeral, FIRST + 1_000) - FIRST;

/**
 * Finds distinct free ports of 127.0.0.1, below the ephemeral range, so that no connection takes
 * one before its server listens, or while the server restarts.
 */
export async function freePorts(count: number): Promise<number[]> {
  const held: Server[] = [];
  while (held.length < count) {
    const server = await listen(FIRST + Math.floor(Math.random() * span));
    if (server !== undefined) held.push(server);
  }
  const ports = held.map((server) => (server.address() as { port: number }).port);
  await Promise.all(held.map((server) => new Promise((done) => server.close(done))));
  return ports;
}

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  return port!;
}

/** Listens on a port; resolves with undefined if it is taken. */
function listen(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}
