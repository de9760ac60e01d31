import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { FETCH_ANSWERS_CHARS_MAX, HostCalls } from "../../../src/sandbox/host-calls/host-calls.ts";
import type {
  GuestFetchRequest,
  GuestFetchResponse,
} from "../../../src/sandbox/host-calls/host-functions.ts";
import {
  FETCH_REQUEST_CHARS_MAX,
  FETCHES_AT_ONCE_MAX,
  FETCHES_MAX,
} from "../../../src/settings/limits.ts";
import { holds } from "../../until.ts";
import { batch, eventually, hasty, PATIENCE_MS, program, shown, testSandbox } from "../support.ts";

setDefaultTimeout(PATIENCE_MS);

let answer: (request: GuestFetchRequest, signal: AbortSignal) => Promise<GuestFetchResponse>;
const sandbox = testSandbox({ fetch: (request, signal) => answer(request, signal) });
afterAll(() => sandbox.close());

const ok = (url: string, body: unknown): GuestFetchResponse => ({
  url,
  status: 200,
  headers: { "content-type": "application/json" },
  body: typeof body === "string" ? body : JSON.stringify(body),
});

const run = async (code: string, ...events: object[]) =>
  shown(await sandbox.run(program(code), batch(...events)));

test("fetchV2 answers with url, status, headers and a parsed body", async () => {
  const seen: GuestFetchRequest[] = [];
  answer = async (request) => {
    seen.push(request);
    return ok(`${request.url}#`, { a: [1] });
  };
  const code = `export async function transformEvent(event) {
    const options = { method: "POST", headers: { "X-A": 1 }, body: JSON.stringify(event) };
    return await fetchV2("https://example.com/x", options);
  }`;
  expect(await run(code, { n: 1 })).toEqual([
    [
      {
        url: "https://example.com/x#",
        status: 200,
        headers: { "content-type": "application/json" },
        body: { a: [1] },
      },
    ],
  ]);
  expect(seen).toEqual([
    {
      workspaceId: "w1",
      url: "https://example.com/x",
      method: "POST",
      headers: { "X-A": "1" },
      body: '{"n":1}',
      timeoutMs: expect.any(Number),
      answerBytesMax: expect.any(Number),
    },
  ]);
});

test("fetch answers the parsed body, or ERROR for whatever goes wrong", async () => {
  answer = async ({ url }) => {
    if (url === "fails") throw new Error("refused");
    return ok(url, url === "text" ? "no JSON" : { url });
  };
  const code = "export const transformEvent = async ({ url }) => ({ r: await fetch(url) })";
  expect(await run(code, { url: "json" }, { url: "text" }, { url: "fails" })).toEqual([
    [{ r: { url: "json" } }],
    [{ r: "ERROR" }],
    [{ r: "ERROR" }],
  ]);
});

test("fetchV2 rejects with the reason, and answers text as it is", async () => {
  answer = async ({ url }) => {
    if (url === "fails") throw new Error("refused");
    return ok(url, "no JSON");
  };
  const code = `export const transformEvent = async ({ url }) => {
    const { body } = await fetchV2(url);
    return { body };
  }`;
  expect(await run(code, { url: "fails" }, { url: "text" })).toEqual([
    expect.stringMatching(/^Error: refused/),
    [{ body: "no JSON" }],
  ]);
});

test("many events wait at once, and more than may run wait for their turn", async () => {
  let running = 0;
  let most = 0;
  const full = Promise.withResolvers<void>();
  answer = async ({ url }) => {
    running += 1;
    most = Math.max(most, running);
    if (running === FETCHES_AT_ONCE_MAX) full.resolve();
    await full.promise;
    await Bun.sleep(20);
    running -= 1;
    return ok(url, { url });
  };
  const code = `export const transformEvent = async (event) => {
    const { url } = await fetch("u" + event.n);
    return { n: event.n, url };
  }`;
  const events = Array.from({ length: 2 * FETCHES_AT_ONCE_MAX }, (_, n) => ({ n }));
  expect(await run(code, ...events)).toEqual(events.map(({ n }) => [{ n, url: `u${n}` }]));
  expect(most).toBe(FETCHES_AT_ONCE_MAX);
});

test("events whose requests are too large together for one message are all answered", async () => {
  const asked: string[] = [];
  answer = async ({ url, body }) => {
    asked.push(url);
    return ok(url, { size: body.length });
  };
  const size = Math.ceil(FETCH_REQUEST_CHARS_MAX / 3);
  const code = `export const transformEvent = async ({ n }) => {
    const { body } = await fetchV2("u" + n, { method: "POST", body: "x".repeat(${size}) });
    return { n, size: body.size };
  }`;
  const numbers = Array.from({ length: 7 }, (_, n) => n);
  const answered = await run(code, ...numbers.map((n) => ({ n })));
  expect(answered).toEqual(numbers.map((n) => [{ n, size }]));
  expect(asked).toEqual(numbers.map((n) => `u${n}`));
});

test("a request that is too large for one message fails", async () => {
  const code = `export const transformEvent = async () => {
    try { await fetchV2("u", { body: "x".repeat(${FETCH_REQUEST_CHARS_MAX}) }); }
    catch ({ message }) { return { message }; }
  }`;
  const message = `Expected a request of at most ${FETCH_REQUEST_CHARS_MAX} characters`;
  expect(await run(code, {})).toEqual([[{ message }]]);
});

test("waiting costs no CPU budget", async () => {
  const fetch = async ({ url }: GuestFetchRequest) => {
    await Bun.sleep(2 * hasty.cpuMs);
    return ok(url, {});
  };
  const strict = testSandbox({ fetch, limits: hasty });
  const code = "export const transformEvent = async (event) => (await fetch('u'), event)";
  expect(shown(await strict.run(program(code), batch({ n: 1 })))).toEqual([[{ n: 1 }]]);
  await strict.close();
});

test("a loop after an answer times out", async () => {
  const strict = testSandbox({ fetch: async ({ url }) => ok(url, {}), limits: hasty });
  const code = "export const transformEvent = async (event) => { await fetch('u'); for (;;); }";
  const outcomes = shown(await strict.run(program(code), batch({ n: 1 })));
  expect(outcomes).toEqual(["Script execution timed out."]);
  await strict.close();
});

test("a fetch that is not awaited is made", async () => {
  const seen: string[] = [];
  answer = async ({ url }) => {
    seen.push(url);
    return ok(url, {});
  };
  const code = "export const transformEvent = (event) => { fetch('u' + event.n); return event }";
  expect(await run(code, { n: 1 }, { n: 2 })).toEqual([[{ n: 1 }], [{ n: 2 }]]);
  expect(seen).toEqual(["u1", "u2"]);
});

test("a program may fetch while it loads", async () => {
  answer = async ({ url }) => ok(url, { n: 7 });
  const code = `const { n } = await fetch("config");
    export const transformEvent = () => ({ n })`;
  expect(await run(code, {})).toEqual([[{ n: 7 }]]);
});

test("a batch may not fetch more than its share", async () => {
  let count = 0;
  answer = async ({ url }) => {
    count += 1;
    return ok(url, {});
  };
  const code = `export const transformEvent = async () => {
    let refused = 0;
    for (let i = 0; i < ${FETCHES_MAX + 5}; i += 1) {
      try { await fetchV2("u") } catch { refused += 1 }
    }
    return { refused };
  }`;
  expect(await run(code, {})).toEqual([[{ refused: 5 }]]);
  expect(count).toBe(FETCHES_MAX);
});

const body = "\u0001".repeat(FETCH_ANSWERS_CHARS_MAX / 8);
const headers = Object.fromEntries(Array.from({ length: 40_000 }, (_, n) => [`name-${n}`, ""]));
test.each([
  ["bodies", { body }],
  ["headers", { headers }],
])("answers whose %s are not taken hold up further requests", async (_, large) => {
  let answered = 0;
  const fetch = async ({ url }: GuestFetchRequest) => {
    answered += 1;
    return { ...ok(url, ""), ...large };
  };
  const calls = new HostCalls({ fetch }, "w1");
  const about = { method: "GET", headers: {}, body: "" };
  const questions = Array.from({ length: 100 }, (_, id) => ({ id, url: `u${id}`, ...about }));
  let taken = (await calls.exchange(Buffer.from(JSON.stringify(questions)))).length;
  // Pending requests, and those in progress when the bound was reached.
  await holds(50, () => expect(answered - taken).toBeLessThan(8 + FETCHES_AT_ONCE_MAX));
  while (taken < questions.length) taken += (await calls.exchange(Buffer.from("[]"))).length;
  expect(answered).toBe(questions.length);
  calls.abort();
});

test("requests in flight end with their guest", async () => {
  const ended: boolean[] = [];
  let asked = false;
  answer = (_, signal) =>
    new Promise((_resolve, reject) => {
      asked = true;
      signal.addEventListener("abort", () => {
        ended.push(true);
        reject(new Error("ended"));
      });
    });
  const other = testSandbox({ fetch: (request, signal) => answer(request, signal) });
  const code = "export const transformEvent = async () => fetch('u')";
  const running = other.run(program(code), batch({})).catch((error) => error.message);
  await eventually(() => asked);
  await other.close();
  expect(await running).toBe("Sandbox is closed");
  expect(ended).toEqual([true]);
});

test("geolocation answers what the host knows, and says what is wrong", async () => {
  const other = testSandbox({
    geolocation(ip) {
      if (ip === "9.9.9.9") throw new Error("the database is broken");
      return ip === "1.1.1.1" ? { country: "AU" } : null;
    },
  });
  const code = `export const transformEvent = async ({ ip }) => ({ at: await geolocation(ip) })`;
  const ips = ["1.1.1.1", "2001:db8::1", "", "localhost", "9.9.9.9"];
  const outcomes = shown(await other.run(program(code), batch(...ips.map((ip) => ({ ip })))));
  expect(outcomes).toEqual([
    [{ at: { country: "AU" } }],
    [{ at: {} }],
    expect.stringMatching(/^Error: ip address is required/),
    expect.stringMatching(/^Error: invalid ip address/),
    expect.stringMatching(/^Error: geolocation is not available right now/),
  ]);
  await other.close();
});

test("without a host function every fetch fails", async () => {
  const other = testSandbox();
  const code = "export const transformEvent = async () => fetchV2('u')";
  expect(shown(await other.run(program(code), batch({})))).toEqual([
    expect.stringMatching(/^Error: fetch is not available/),
  ]);
  await other.close();
});
