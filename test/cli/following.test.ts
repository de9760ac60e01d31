import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { ADMIN_TOKEN } from "../e2e/server.ts";
import { inProcess, start, startAnswers } from "./in-process.ts";

const overview = {
  problems: [],
  destinations: [],
  sources: [],
  totals: {
    ...{ problems: 0, destinations: 0, sources: 0, lagEvents: 0, lagSeconds: 0 },
    rates: { received: 0, delivered: 0, dropped: 0, failed: 0 },
  },
};
/** Answers by which the next looks are answered, before the usual one. */
const troubles: (() => Response | undefined)[] = [];
/** Streams of the tail, each the messages of one connection. */
const streams: (string | Response)[] = [];

const server = startAnswers({
  "GET /v2/workspace": () => ({ workspace: { name: "Main" } }),
  "GET /v2/overview": () => troubles.shift()?.() ?? overview,
  "GET /v2/status/names": ({ query }) => ({
    names: [query.kind === "source" ? { id: "s1", name: "Site" } : { id: "d1", name: "Hook" }],
    total: 1,
  }),
  "GET /v2/events": () => {
    const next = streams.shift() ?? new Response("", { status: 400 });
    if (next instanceof Response) return next;
    return new Response(next, { headers: { "content-type": "text/event-stream" } });
  },
});
afterAll(server[Symbol.dispose]);
const environment = { PIXELMILL_SERVER: server.controlPlane, PIXELMILL_TOKEN: ADMIN_TOKEN };
const piped = inProcess(server);
const unavailable = () => Response.json({ message: "busy" }, { status: 503 });
const looks = () => server.sent.filter(({ route }) => route === "GET /v2/overview").length;
beforeEach(() => {
  server.sent.length = 0;
  troubles.length = 0;
  streams.length = 0;
});

describe("status", () => {
  test("prints what the server does, and exits with 1 when something needs a person", async () => {
    const { code, output } = await piped(["status"]);
    expect(code).toBe(0);
    expect(output).toStartWith(`Main at ${server.controlPlane}\nnothing needs a person\n`);
    const json = await piped(["status", "--json"]);
    expect([json.code, json.output]).toEqual([0, `${JSON.stringify(overview, null, 2)}\n`]);
    troubles.push(() => Response.json({ ...overview, problems: [{}] }));
    expect((await piped(["status", "--json"])).code).toBe(1);
  });
});

describe("top", () => {
  const fast = ["--every", "0.001"];

  test("prints a line of JSON for each of --count looks when piped", async () => {
    const { code, output, errors } = await piped(["top", "--count", "3", ...fast]);
    expect([code, errors]).toEqual([0, ""]);
    expect(output).toBe(`${JSON.stringify(overview)}\n`.repeat(3));
    expect(looks()).toBe(3);
  });

  test("prints JSON in a terminal with --json", async () => {
    const { output } = await inProcess(server, true)(["top", "--count", "1", "--json"]);
    expect(output).toBe(`${JSON.stringify(overview)}\n`);
  });

  test("looks again until the server answers, and says once that it is away", async () => {
    const later = { ...overview, problems: [{ kind: "other", message: "trouble" }] };
    troubles.push(() => undefined, unavailable, unavailable, unavailable);
    troubles.push(() => Response.json(later));
    const { code, output, errors } = await piped(["top", "--count", "2", ...fast]);
    expect([code, looks()]).toEqual([0, 5]);
    expect(output).toBe(`${JSON.stringify(overview)}\n${JSON.stringify(later)}\n`);
    expect(errors).toBe("pixelmill: busy; asking again\n");
  });

  test("ends when the server refuses", async () => {
    troubles.push(
      () => undefined,
      () => Response.json({ message: "no" }, { status: 403 }),
    );
    const { code, errors } = await piped(["top", ...fast]);
    expect([code, errors]).toEqual([3, "pixelmill: no\n"]);
  });

  test("draws a second screen in a terminal, keeps it while the server is away, and leaves it", async () => {
    troubles.push(() => undefined, unavailable);
    const top = start(["top", ...fast], { environment, isTerminal: true });
    const { output, ended, shown } = top;
    await shown("busy");
    top.signal("SIGINT");
    expect(await ended).toBe(0);
    const [entered, drawn = "", away = ""] = output.text.split("\u001b[H");
    expect(entered).toBe("\u001b[?1049h\u001b[?25l");
    expect(drawn).toStartWith("\u001b[1mMain at http://127.0.0.1:");
    expect(drawn).toContain("Z, Ctrl-C ends\u001b[22m\u001b[K\u001b[J");
    expect(away).toContain("nothing needs a person\u001b[39m\u001b[K\n");
    expect(away).toContain("\u001b[31mbusy\u001b[39m\u001b[K\u001b[J");
    expect(output.text).toEndWith("\u001b[?25h\u001b[?1049l");
  });

  test("draws no more lines than the terminal has", async () => {
    const problems = Array.from({ length: 40 }, () => ({ kind: "other", message: "trouble" }));
    const totals = { ...overview.totals, problems: 40 };
    troubles.push(() => Response.json({ ...overview, problems, totals }));
    const run = await inProcess(server, true)(["top", "--count", "1"]);
    expect(run.output.match(/\n/g)).toHaveLength(23);
  });

  test("ends when nothing reads its output any more", async () => {
    const { output, ended } = start(["top", ...fast], { environment });
    output.once("written", () => output.emit("error", new Error("EPIPE")));
    expect(await ended).toBe(0);
  });

  test.each([["--every"], ["--count"]])("refuses a %s that is no number above 0", async (flag) => {
    for (const value of ["0", "x", "-1"]) {
      const { code, errors } = await piped(["top", `${flag}=${value}`]);
      expect([code, errors]).toEqual([1, `pixelmill: Expected ${flag} as a number above 0\n`]);
    }
    expect(looks()).toBe(0);
  });
});

describe("tail", () => {
  const message = (name: string, data: object) =>
    `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
  const bought = message("received", { sourceId: "s1", event: { event: "Bought" } });
  const other = message("delivered", { sourceId: "s1", destinationId: "d1", event: {} });

  test("asks for what its flags name, and ends after --count lines", async () => {
    streams.push(bought.repeat(5));
    const flags = ["--source", "site", "--destination", "Hook", "--count", "2"];
    const { code, output, errors } = await piped(["tail", ...flags]);
    expect(code).toBe(0);
    const line = { stage: "received", sourceId: "s1", event: { event: "Bought" } };
    expect(output).toBe(`${JSON.stringify(line)}\n`.repeat(2));
    expect(errors).toBe(`following ${server.controlPlane}\n2 shown\n`);
    const asked = server.sent.filter(({ route }) => route === "GET /v2/events");
    expect(asked.map(({ query }) => query)).toEqual([{ sourceId: "s1", destinationId: "d1" }]);
  });

  test("counts what filters leave out and what the server missed, in text with --text", async () => {
    streams.push(other + message("missed", { count: 7 }) + bought);
    const flags = ["--event", "Bought", "--text", "--count", "1"];
    const { output, errors } = await piped(["tail", ...flags]);
    expect(output).toBe("… 7 missed\n received    Site  Bought\n");
    expect(errors).toEndWith(
      "\n1 shown, 1 left out by filters, 7 missed: more came than a tail is sent\n",
    );
  });

  test("connects again when the stream ends, and says what is left out", async () => {
    streams.push(other, unavailable(), bought);
    const { code, errors } = await piped(["tail", "--count", "2"]);
    expect(code).toBe(0);
    expect(errors.replace(/of \d+ s/, "of some s")).toBe(
      [
        `following ${server.controlPlane}`,
        "tail lost: its stream ended; connecting again",
        "connected again; events of some s are left out",
        "2 shown\n",
      ].join("\n"),
    );
  });

  test("ends when the server refuses, and when it is away from the start", async () => {
    streams.push(other);
    const refused = await piped(["tail"]);
    expect(refused.code).toBe(3);
    expect(refused.errors).toEndWith("\npixelmill: The server answered 400\n");
    streams.push(unavailable());
    const away = await piped(["tail"]);
    expect([away.code, away.errors]).toEqual([3, "pixelmill: busy\n"]);
  });

  test.each(["SIGINT", "SIGTERM"] as const)("ends with its summary at %s", async (signal) => {
    const open = Promise.withResolvers<void>();
    const quiet = new ReadableStream({
      start: (to) => to.enqueue(Buffer.from(": \n\n")),
      pull: () => open.promise,
    });
    streams.push(new Response(quiet));
    const tail = start(["tail"], { environment });
    const { errors, ended, shown } = tail;
    await shown("following");
    tail.signal(signal);
    expect(await ended).toBe(0);
    expect(errors.text).toEndWith("0 shown\n");
    open.resolve();
  });
});
