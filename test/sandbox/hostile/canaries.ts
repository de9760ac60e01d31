import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Secrets and a listener that no hostile program may reach, and the check whether one did. */
export interface Canaries {
  /** Locations of the canaries, which the programs get as an event. */
  told: { file: string; directory: string; url: string; port: number; pid: number };
  /** Descriptions of the canaries that were reached. `output` is all output of the program. */
  reached(output: string): string[];
  close(): void;
}

export function setCanaries(): Canaries {
  const directory = mkdtempSync(join(tmpdir(), "pixelmill-canary-"));
  const file = join(directory, "canary");
  const secret = `canary-${crypto.randomUUID()}`;
  writeFileSync(file, secret);
  const environmentSecret = `canary-${crypto.randomUUID()}`;
  process.env.PIXELMILL_CANARY = environmentSecret;
  let connections = 0;
  const listener = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        connections += 1;
        socket.end();
      },
      data() {},
    },
  });
  const url = `http://127.0.0.1:${listener.port}/`;

  return {
    told: { file, directory, url, port: listener.port, pid: process.pid },
    reached(output) {
      const reached: string[] = [];
      if (readFileSync(file, "utf8") !== secret) reached.push("the file was changed");
      if (output.includes(secret)) reached.push("the file was read");
      if (output.includes(environmentSecret)) reached.push("the environment was read");
      if (output.includes(otherWorkspacesSecret)) reached.push("another workspace was read");
      if (connections > 0) reached.push("the listener was reached");
      return reached;
    },
    close() {
      listener.stop(true);
      delete process.env.PIXELMILL_CANARY;
      rmSync(directory, { recursive: true });
    },
  };
}

/** A credential of another workspace, whose guest lives next to the hostile one. */
export const otherWorkspacesSecret = `canary-${crypto.randomUUID()}`;
