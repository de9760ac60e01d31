import { expect, jest, onTestFinished, spyOn, test } from "bun:test";
import {
  FETCH_ANSWERS_CHARS_MAX,
  FETCH_REQUESTS_CHARS_MAX,
  HostCalls,
} from "../../../src/sandbox/host-calls/host-calls.ts";
import { GuestFrameError } from "../../../src/sandbox/protocol/guest-frames.ts";
import {
  FETCH_MS_MAX,
  FETCH_REQUEST_CHARS_MAX,
  FETCH_WAIT_MS_MAX,
  FETCHES_MAX,
} from "../../../src/settings/limits.ts";
import { holds } from "../../until.ts";

const call = { id: 1, url: "http://a", method: "GET", headers: {}, body: "" };

/** A large request without a response yet, and a lookup with an immediate result. */
function questions(n: number): Buffer {
  const request = { url: "http://a", method: "POST", timeoutMs: 0 };
  const text = "x".repeat(FETCH_REQUEST_CHARS_MAX / 2);
  const content = n % 2 === 0 ? { headers: {}, body: text } : { headers: { [text]: "" }, body: "" };
  const large = { id: 2 * n, ...request, ...content };
  return Buffer.from(JSON.stringify([large, { id: 2 * n + 1, ip: "192.0.2.1" }]));
}

test("code with large pending requests waits until enough of them have a response", async () => {
  const under: (() => void)[] = [];
  const fetch = () =>
    new Promise<never>((_, reject) => under.push(() => reject(new Error("refused"))));
  const calls = new HostCalls({ fetch, geolocation: () => ({}) }, "w");
  const free = Math.floor(FETCH_REQUESTS_CHARS_MAX / (FETCH_REQUEST_CHARS_MAX / 2)) - 1;
  for (let n = 0; n < free; n++) expect((await calls.exchange(questions(n))).length).toBe(1);
  let woken = false;
  const next = calls.exchange(questions(free)).then((answers) => {
    woken = true;
    return answers;
  });
  await holds(20, () => expect(woken).toBe(false));
  under.shift()!();
  expect((await next).length).toBe(2);
  for (const end of under) end();
  calls.abort();
});

test("a frame with more host calls than the runner sends ends the guest", async () => {
  const calls = new HostCalls({}, "w");
  const frame = Buffer.alloc(4 * FETCH_REQUEST_CHARS_MAX, " ");
  frame.write('[{"id":1,"ip":"192.0.2.1"}]');
  await expect(calls.exchange(frame)).rejects.toThrow("Expected fewer host calls");
});

test("a fetch with as many headers as fit its limit is no breach", async () => {
  const headers: Record<string, string> = {};
  const length = FETCH_REQUEST_CHARS_MAX - 100;
  // Names of one unit, then of two: the surrogates in between are longer in JSON.
  for (let unit = 0x100, chars = 0; chars < length; unit += unit === 0xd7ff ? 0x801 : 1) {
    const first = unit > 0xffff ? String.fromCharCode(unit >> 8) : "";
    const name = first + String.fromCharCode(unit > 0xffff ? 0x100 + (unit & 0xff) : unit);
    headers[name] = "";
    chars += JSON.stringify(name).length + 4;
  }
  const request = JSON.stringify([{ ...call, headers }]);
  expect(request.length).toBeLessThanOrEqual(FETCH_REQUEST_CHARS_MAX + 2);
  const [answer] = await new HostCalls({}, "w").exchange(Buffer.from(request));
  expect(`${answer}`).toContain("fetch is not available");
});

/** Frames whose JSON takes many times their bytes once it is parsed. */
const costly: [string, string][] = [
  ["nested calls", "[".repeat(1_500_000) + "]".repeat(1_500_000)],
  ["a million calls", `[${"{},".repeat(1_000_000)}{}]`],
  ["a call with a million headers", `[{"id":1,"headers":{${'"":"",'.repeat(500_000)}"":""}}]`],
];

test.each(costly)("%s end the guest before they are parsed", async (_, text) => {
  const calls = new HostCalls({}, "w");
  const parse = spyOn(JSON, "parse");
  try {
    await expect(calls.exchange(Buffer.from(text))).rejects.toBeInstanceOf(GuestFrameError);
    expect(parse).not.toHaveBeenCalled();
  } finally {
    parse.mockRestore();
  }
});

test("a guest gets a bounded number of host calls", async () => {
  const calls = new HostCalls({ geolocation: () => ({}) }, "w");
  let answered = 0;
  const asking = async () => {
    for (let id = 0; id < 10 * FETCHES_MAX; id += 1) {
      const question = Buffer.from(JSON.stringify([{ id, ip: "192.0.2.1" }]));
      answered += (await calls.exchange(question)).length;
    }
  };
  await expect(asking()).rejects.toThrow("Expected fewer host calls");
  expect(answered).toBe(2 * FETCHES_MAX);
});

test.each([
  ["null", "Expected a list of host calls"],
  ["{}", "Expected a list of host calls"],
  ['"text"', "Expected a list of host calls"],
  ["[null]", "Expected a list of host calls"],
  ["[{}]", "Expected a list of host calls"],
  [JSON.stringify([{ ...call, id: "1" }]), "Expected a list of host calls"],
  [JSON.stringify([{ ...call, id: 0.5 }]), "Expected a list of host calls"],
  [JSON.stringify([{ ...call, url: 1 }]), "Expected a list of host calls"],
  [JSON.stringify([{ ...call, method: null }]), "Expected a list of host calls"],
  [JSON.stringify([{ ...call, headers: { a: 1 } }]), "Expected a list of host calls"],
  [JSON.stringify([{ ...call, headers: null }]), "Expected a list of host calls"],
  [JSON.stringify([{ ...call, body: undefined }]), "Expected a list of host calls"],
])("a guest that sends %s as its host calls is ended", async (frame, message) => {
  const exchange = new HostCalls({}, "w").exchange(Buffer.from(frame));
  await expect(exchange).rejects.toThrow(new GuestFrameError(message));
});

test("a fetch of user code has the time that it asks for, at most FETCH_MS_MAX", async () => {
  const times: number[] = [];
  const fetch = async ({ timeoutMs }: { timeoutMs: number }) => {
    times.push(timeoutMs);
    return { status: 200, headers: {}, body: "", url: "" };
  };
  const calls = new HostCalls({ fetch } as never, "w");
  const asked = [undefined, -1, 0, 1, 50, FETCH_MS_MAX, FETCH_MS_MAX + 1, "text"];
  for (const [id, timeoutMs] of asked.entries()) {
    await calls.exchange(Buffer.from(JSON.stringify([{ ...call, id, timeoutMs }])));
  }
  const all = FETCH_MS_MAX;
  expect(times).toEqual([all, all, all, 1, 50, all, all, all]);
});

test("responses that the guest has got make room for those of further calls", async () => {
  const body = "x".repeat(1 << 20);
  const fetch = async () => ({ status: 200, headers: {}, body, url: "" });
  const calls = new HostCalls({ fetch }, "w");
  const most = FETCH_ANSWERS_CHARS_MAX / body.length;
  let answered = 0;
  for (let id = 0; id < 2 * most; id += 1) {
    answered += (await calls.exchange(Buffer.from(JSON.stringify([{ ...call, id }])))).length;
  }
  expect(answered).toBe(2 * most);
  calls.abort();
});

test("a lookup of an address is answered with what is known of it, or with why there is no answer", async () => {
  const answerOf = async (ip: string, geolocation?: (ip: string) => object | null) => {
    const calls = new HostCalls({ ...(geolocation && { geolocation }) }, "w");
    const [answer] = await calls.exchange(Buffer.from(JSON.stringify([{ id: 7, ip }])));
    return JSON.parse(String(answer));
  };
  const known = (ip: string) => (ip === "192.0.2.1" ? { country: "DE" } : null);
  const unavailable = { id: 7, error: "geolocation is not available right now" };
  expect(await answerOf("192.0.2.1", known)).toEqual({ id: 7, location: { country: "DE" } });
  expect(await answerOf("192.0.2.2", known)).toEqual({ id: 7, location: {} });
  expect(await answerOf("192.0.2", known)).toEqual({ id: 7, error: "invalid ip address" });
  expect(await answerOf("192.0.2.1")).toEqual(unavailable);
  const broken = () => {
    throw new Error("damaged");
  };
  expect(await answerOf("192.0.2.1", broken)).toEqual(unavailable);
});

test("host calls of one frame are at most as many, and as large, as a guest sends", async () => {
  const callsOf = () => new HostCalls({ geolocation: () => ({}) }, "w");
  const fewer = new GuestFrameError("Expected fewer host calls");
  const many = (count: number) => {
    return Buffer.from(JSON.stringify(Array.from({ length: count }, (_, id) => ({ id, ip: "" }))));
  };
  const calls = callsOf();
  const answers = await calls.exchange(many(2 * FETCHES_MAX));
  const errors = answers.map((answer) => JSON.parse(String(answer)).error);
  expect(errors.filter((error) => error === "invalid ip address")).toHaveLength(FETCHES_MAX);
  const tooMany = `Expected at most ${FETCHES_MAX} fetches in a batch`;
  expect(errors.filter((error) => error === tooMany)).toHaveLength(FETCHES_MAX);
  await expect(calls.exchange(many(1))).rejects.toThrow(fewer);
  await expect(callsOf().exchange(many(2 * FETCHES_MAX + 1))).rejects.toThrow(fewer);

  const end = '{"id":1,"ip":""}]';
  const large = (bytes: number) => Buffer.from(`[${end.padStart(bytes - 1)}`);
  const most = 3 * (FETCH_REQUEST_CHARS_MAX + 3);
  expect(await callsOf().exchange(large(most))).toHaveLength(1);
  await expect(callsOf().exchange(large(most + 1))).rejects.toThrow(fewer);
});

test("a guest that waits without a call is ended, and one that waits for a call is not", async () => {
  const pending = new GuestFrameError("Expected a pending host call");
  const none = Buffer.from("[]");
  await expect(new HostCalls({}, "w").exchange(none)).rejects.toThrow(pending);
  const ends: (() => void)[] = [];
  const fetch = ({ url }: { url: string }) =>
    new Promise((resolve) => {
      ends.push(() => resolve({ url, status: 200, headers: {}, body: url }));
    });
  const calls = new HostCalls({ fetch } as never, "w");
  const frame = JSON.stringify([call, { ...call, id: 2, url: "http://b" }]);
  const first = calls.exchange(Buffer.from(frame));
  ends.pop()!();
  expect((await first).map((answer) => JSON.parse(String(answer)))).toEqual([
    { id: 2, url: "http://b", status: 200, headers: {}, body: "http://b" },
  ]);
  const second = calls.exchange(none);
  ends.pop()!();
  expect(await second).toHaveLength(1);
  await expect(calls.exchange(none)).rejects.toThrow(pending);
  calls.abort();
});

test("the fetches of a batch end when it has waited for a minute, and no other begins", async () => {
  jest.useFakeTimers();
  onTestFinished(() => void jest.useRealTimers());
  const signals: AbortSignal[] = [];
  const fetch = (_: unknown, signal: AbortSignal) =>
    new Promise((_, reject) => {
      signals.push(signal);
      signal.addEventListener("abort", () => reject(new Error("ended")));
    });
  const callsOf = () => new HostCalls({ fetch } as never, "w");
  const ask = async (calls: HostCalls) => {
    const [answer] = await calls.exchange(Buffer.from(JSON.stringify([call])));
    return JSON.parse(String(answer));
  };
  const calls = callsOf();
  const first = ask(calls);
  jest.advanceTimersByTime(FETCH_WAIT_MS_MAX - 1);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  jest.advanceTimersByTime(1);
  expect(await first).toEqual({ id: 1, error: "ended" });
  const late = { id: 1, error: "The batch has no time left to fetch" };
  expect([await ask(calls), signals.length]).toEqual([late, 1]);
  const aborted = callsOf();
  const second = ask(aborted);
  aborted.abort();
  expect(await second).toEqual({ id: 1, error: "ended" });
  expect(jest.getTimerCount()).toBe(0);
});
