import { afterAll, beforeAll, expect, test } from "bun:test";
import { createEgress, reservedHeaders } from "../../src/egress/egress.ts";
import { guestFetch } from "../../src/egress/guest-fetch.ts";
import { RawSink } from "./sink.ts";

const egress = createEgress({ allow: ["127.0.0.0/8"] });
const sink = new RawSink((socket) => {
  socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
});
let url: string;
beforeAll(async () => {
  url = `http://127.0.0.1:${await sink.listen()}/`;
});
afterAll(() => {
  sink.close();
  egress.close();
});

test.each([...reservedHeaders])(
  "user code does not set %s, however it is written",
  async (name) => {
    // Its end of chunks would make a request of its own of the rest.
    const body = "0\r\n\r\nPOST /planted HTTP/1.1\r\n\r\n";
    const value = name === "transfer-encoding" ? "chunked" : "theirs";
    const answer = await guestFetch(egress)(
      {
        workspaceId: "workspace",
        url,
        method: "POST",
        body,
        timeoutMs: 60_000,
        answerBytesMax: 100,
        headers: { [name]: value, [name.toUpperCase()]: value, Authorization: "kept" },
      },
      new AbortController().signal,
    );
    expect(answer.body).toBe("ok");
    const [head, sent] = sink.requests.at(-1)!.split(/\r\n\r\n(.*)/s);
    expect(sent).toBe(body);
    expect(head).toContain("\r\nAuthorization: kept\r\n");
    expect(`${head}\r\n`).toContain(`\r\nContent-Length: ${body.length}\r\n`);
    expect(head).not.toContain(value);
  },
);
