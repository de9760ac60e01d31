import { expect, test } from "bun:test";
import { join } from "node:path";
import { RawSink } from "./sink.ts";

const root = join(import.meta.dir, "../..");

test("a connection without a file descriptor for it blames this server, and not the receiver", async () => {
  const silent = new RawSink(() => {});
  const url = `http://127.0.0.1:${await silent.listen()}`;
  const code = `
    import { createEgress } from "./src/egress/egress.ts";
    const { request } = createEgress({ allow: ["127.0.0.0/8"] });
    const get = { url: ${JSON.stringify(url)}, workspaceId: "w", method: "GET", headers: {} };
    const more = { body: new Uint8Array(), timeoutMs: 60_000, answerBytesMax: 1, isRepeatable: true };
    const signal = new AbortController().signal;
    for (let n = 0; n < 100; n++) {
      request({ ...get, ...more, signal }).catch(({ message }) => {
        console.log(message);
        process.exit();
      });
    }`;
  const command = ["bash", "-c", 'ulimit -n 80; exec "$@"', "-", process.execPath, "-e", code];
  const client = Bun.spawn(command, { cwd: root, stdout: "pipe" });
  expect((await client.stdout.text()).trim()).toBe(
    "This server may open no further connection or file (EMFILE): raise its limit of open files",
  );
  silent.close();
});
