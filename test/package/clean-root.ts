import { ADMIN_TOKEN, waitFor } from "../e2e/server.ts";
import { freePorts } from "../free-ports.ts";

/** A server that runs in another root, as its user there. */
export interface RootedServer {
  dataPlane: string;
  api(method: string, path: string, body?: unknown): Promise<{ status: number; body: any }>;
  errors(): string;
  /** Runs a command in the same root, with the same environment. */
  run(command: string[]): { exitCode: number; text: string };
  stop(): Promise<number>;
}

export interface Root {
  path: string;
  /** Numeric user and group. */
  user: string;
  environment: Record<string, string>;
  /** Commands of a shell, as root, before the change of the root. `$R` is its path. */
  mounts?: string;
}

/** Runs a command, and throws with its output when it fails. Returns the output. */
export function succeed(command: string[], env: Record<string, string> = {}): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { env: { ...process.env, ...env } });
  const text = `${stdout}${stderr}`;
  if (exitCode !== 0) throw new Error(`${command.join(" ")} ended with ${exitCode}: ${text}`);
  return text;
}

/** Runs a command in a root, as its user, and throws with its output when it fails. */
export const succeedIn = (root: Root, command: string[], env: Record<string, string> = {}) =>
  succeed(rooted(root, command), env);

/** A command in the root, in mounts of its own, so that nothing of them is left behind. */
function rooted({ path, user, mounts = "" }: Root, command: string[]): string[] {
  const script = `set -e; R=$0
    mkdir -p "$R/proc" "$R/dev"; mount --bind "$R" "$R"; mount -t proc proc "$R/proc"; mount --rbind /dev "$R/dev"
    ${mounts}
    CHROOT=$(command -v chroot); export PATH=/usr/sbin:/usr/bin:/sbin:/bin
    exec "$CHROOT" --userspec=${user} "$R" "$@"`;
  return ["unshare", "--mount", "/bin/sh", "-c", script, path, ...command];
}

export async function serveIn(root: Root, command: string[]): Promise<RootedServer> {
  const [port, adminPort] = await freePorts(2);
  const environment = {
    ...root.environment,
    PIXELMILL_PORT: String(port),
    PIXELMILL_ADMIN_PORT: String(adminPort),
    PIXELMILL_ADMIN_TOKEN: ADMIN_TOKEN,
  };
  const child = Bun.spawn(rooted(root, command), {
    env: { ...environment, PATH: process.env.PATH! },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let errors = "";
  const read = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) errors += decoder.decode(chunk, { stream: true });
  })();
  const controlPlane = `http://127.0.0.1:${adminPort}`;
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" };
  await waitFor(async () => {
    if (child.exitCode !== null) {
      await read;
      throw new Error(`the server ended with ${child.exitCode}: ${errors}`);
    }
    return (await fetch(`${controlPlane}/v2/sources`, { headers }).catch(() => undefined))?.ok;
  }, "a server that answers");
  return {
    dataPlane: `http://127.0.0.1:${port}`,
    async api(method, path, body) {
      const response = await fetch(controlPlane + path, {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: await response.json() };
    },
    errors: () => errors,
    run(command) {
      const { exitCode, stdout, stderr } = Bun.spawnSync(rooted(root, command), {
        env: { ...environment, PATH: process.env.PATH! },
      });
      return { exitCode, text: `${stdout}${stderr}` };
    },
    async stop() {
      child.kill("SIGTERM");
      return await child.exited;
    },
  };
}
