import { createEgress } from "../../src/egress/egress.ts";

/** Sends one request from a process of its own and prints the status. */
const egress = createEgress({ allow: ["127.0.0.0/8"] });
const answer = await egress.request({
  ...{ url: process.argv[2]!, method: "POST", headers: {}, body: new Uint8Array() },
  ...{ timeoutMs: 5_000, answerBytesMax: 10, signal: new AbortController().signal },
});
process.stdout.write(String(answer.status));
egress.close();
