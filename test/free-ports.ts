import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:net";

/** The kernel gives ports from this one on to connections that ask for none. */
const EPHEMERAL = "/proc/sys/net/ipv4/ip_local_port_range";
const firstEphemeral = Number(readFileSync(EPHEMERAL, "latin1").split("\t")[0]);
const FIRST = 10_000;
const span = Math.max(firstEphemeral, FIRST + 1_000) - FIRST;

/**
 * Free ports of 127.0.0.1, different ones. They are below those of connections, so that none is
 * taken before its server listens, or while that is started again.
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

/** Undefined when the port is taken. */
function listen(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}
