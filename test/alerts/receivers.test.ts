import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { SMTPServer } from "smtp-server";
import { ALERT_NOTIFICATIONS_PER_HOUR_MAX } from "../../src/settings/limits.ts";
import { ca, good } from "../egress/tls.ts";
import {
  type AlertScene,
  startAlertScene,
  startReceiver,
  type TestReceiver,
  until,
} from "./_scene.ts";

const JSON_TYPE = "application/json";
const PASSWORD = "smtp-password-5f2c";
const mails: { from: string; to: string[]; text: string; isSecure: boolean }[] = [];
const refusedAddresses = new Set<string>();
const mailServer = new SMTPServer({
  logger: false,
  key: good.key,
  cert: good.cert,
  onAuth: ({ username, password }, _session, done) =>
    password === PASSWORD ? done(null, { user: username }) : done(new Error("Refused")),
  onRcptTo: ({ address }, _session, done) =>
    done(refusedAddresses.has(address) ? new Error("No such user") : null),
  onData(stream, { envelope, secure }, done) {
    let text = "";
    stream.on("data", (part: Buffer) => {
      text += part;
    });
    stream.on("end", () => {
      const from = envelope.mailFrom ? envelope.mailFrom.address : "";
      mails.push({ from, to: envelope.rcptTo.map((it) => it.address), text, isSecure: secure });
      done();
    });
  },
});

let scene: AlertScene;
let receiver: TestReceiver;

beforeAll(async () => {
  await new Promise<void>((resolve) => mailServer.listen(0, "127.0.0.1", resolve));
  const { port } = mailServer.server.address() as { port: number };
  receiver = startReceiver();
  scene = await startAlertScene({
    mailServer: {
      host: "good.test",
      port,
      tls: "starttls",
      user: "pixelmill",
      password: PASSWORD,
      from: "alerts@example.com",
      ca,
    },
  });
  await scene.call("POST", "/v2/alerts/rules", { kind: "lag", forSeconds: 0, clearSeconds: 0 });
});

afterAll(async () => {
  await scene.api.stop();
  receiver.stop();
  mailServer.close();
});

afterEach(async () => {
  scene.facts.lane = {};
  await scene.pass(10);
  const { receivers } = await scene.call("GET", "/v2/alerts/receivers");
  for (const { id } of receivers) await scene.call("DELETE", `/v2/alerts/receivers/${id}`);
  receiver.answer(() => new Response("ok"));
  receiver.got.length = 0;
});

async function create(body: Record<string, unknown>): Promise<string> {
  const made = await scene.call("POST", "/v2/alerts/receivers", { name: "On call", ...body });
  return made.receiver.id;
}

/** Lets an alert begin and end. */
async function trouble(): Promise<void> {
  scene.facts.lane = { lagSeconds: 1_000, lagEvents: 7 };
  await scene.pass(10);
  await until(() => isSent("begin"));
  scene.facts.lane = {};
  await scene.pass(10);
  await until(() => isSent("end"));
}

async function isSent(phase: string): Promise<boolean> {
  const { alerts } = await scene.call("GET", "/v2/alerts");
  const all = alerts[0].notifications.filter((it: { phase: string }) => it.phase === phase);
  return all.length > 0 && all.every((it: { state: string }) => it.state === "sent");
}

test("Slack gets a text with a link, and a name in it notifies no member", async () => {
  const { ids, call } = scene;
  await call("PUT", `/v2/destinations/${ids.destination}`, { name: "<!channel> & Co" });
  await create({ type: "slack", url: `${receiver.url}services/T0/B0/secret` });
  await trouble();
  const [begin, end] = receiver.got;
  expect(begin!.path).toBe("/services/T0/B0/secret");
  for (const { headers } of receiver.got) expect(headers.get("content-type")).toBe(JSON_TYPE);
  expect(begin!.body.text).toBe(
    ":rotating_light: *[Alert] Delivery lag: &lt;!channel&gt; &amp; Co*\n" +
      "&lt;!channel&gt; &amp; Co lags 17 min behind: 7 events not delivered\nAcme\n" +
      `<http://console.example/#/destinations/${ids.destination}|Open in console>`,
  );
  expect(end!.body.text).toStartWith(":white_check_mark: *[Resolved] Delivery lag");
  await call("PUT", `/v2/destinations/${ids.destination}`, { name: "Warehouse" });
});

test("PagerDuty gets a trigger and a resolve with one dedup key", async () => {
  const routingKey = "0123456789abcdef0123456789abcdef";
  const id = await create({ type: "pagerduty", routingKey, url: `${receiver.url}v2/enqueue` });
  await trouble();
  const [begin, end] = receiver.got.map(({ body }) => body);
  expect(begin).toMatchObject({
    routing_key: routingKey,
    event_action: "trigger",
    payload: {
      source: "Warehouse",
      severity: "warning",
      class: "lag",
      group: "Acme",
      component: "destination",
    },
    links: [{ text: "Open in console" }],
  });
  expect(begin.payload.summary).toContain("Warehouse lags 17 min behind");
  expect(end).toEqual({
    routing_key: routingKey,
    event_action: "resolve",
    dedup_key: begin.dedup_key,
  });
  // A test leaves no open incident.
  receiver.got.length = 0;
  expect(await scene.call("POST", `/v2/alerts/receivers/${id}/test`)).toEqual({ ok: true });
  expect(receiver.got.map(({ body }) => body.event_action)).toEqual(["trigger", "resolve"]);
});

test("a webhook gets JSON, with its authorization and a key for each notification", async () => {
  await create({ type: "webhook", url: `${receiver.url}hook`, authorization: "Bearer s3cret" });
  await trouble();
  const [begin, end] = receiver.got;
  expect(begin!.headers.get("content-type")).toBe(JSON_TYPE);
  expect(begin!.headers.get("authorization")).toBe("Bearer s3cret");
  expect(begin!.body).toMatchObject({
    type: "alert.began",
    alert: { kind: "lag", subject: { type: "destination", name: "Warehouse" } },
    workspace: { name: "Acme" },
  });
  expect(end!.body).toMatchObject({ type: "alert.ended", dedupKey: begin!.body.dedupKey });
  expect(end!.body.alert.endedAt).toBeString();
  const keys = receiver.got.map(({ headers }) => headers.get("idempotency-key"));
  expect(new Set(keys).size).toBe(2);
});

test("e-mail goes over the operator's server, encrypted and signed in", async () => {
  const { ids, call } = scene;
  await call("PUT", `/v2/destinations/${ids.destination}`, { name: "A\r\nBcc: x@example.com" });
  await create({ type: "email", to: ["ada@example.com", "grace@example.com"] });
  await trouble();
  await call("PUT", `/v2/destinations/${ids.destination}`, { name: "Warehouse" });
  expect(mails.map(({ from, to, isSecure }) => ({ from, to, isSecure }))).toEqual(
    Array(2).fill({
      from: "alerts@example.com",
      to: ["ada@example.com", "grace@example.com"],
      isSecure: true,
    }),
  );
  const [begin, end] = mails.map(({ text }) => text);
  expect(begin).toContain("Subject: [Alert] Delivery lag: A Bcc: x@example.com");
  expect(begin!.split("\r\n\r\n")[0]).not.toMatch(/^Bcc:/m);
  expect(begin).toContain(`http://console.example/#/destinations/${ids.destination}`);
  const id = /^Message-ID:\s+(\S+)$/im.exec(begin!)?.[1];
  expect(end).toMatch(/^References:/im);
  expect(end).toContain(id!);
});

test("a mail of which the server refuses an address is sent once to the others", async () => {
  const sentTo = (subject: string) =>
    mails.filter(({ text }) => text.includes(`Subject: ${subject}`)).map(({ to }) => to.join());
  const notified = async () =>
    (await scene.call("GET", "/v2/alerts")).alerts[0].notifications.map(
      ({ phase, state, attempts }: Record<string, unknown>) => [phase, state, attempts],
    );
  mails.length = 0;
  refusedAddresses.add("gone@example.com");
  const id = await create({ type: "email", to: ["Ada@Example.com", "gone@example.com"] });
  scene.facts.lane = { lagSeconds: 1_000, lagEvents: 7 };
  await until(async () => {
    await scene.pass(10);
    const [[phase, state, attempts]] = await notified();
    return phase === "begin" && state === "pending" && attempts >= 3;
  });
  expect(sentTo("[Alert]")).toEqual(["Ada@example.com"]);
  const { receiver } = await scene.call("GET", `/v2/alerts/receivers/${id}`);
  expect(receiver).toMatchObject({ reason: "The mail server answered 550" });
  scene.facts.lane = {};
  await scene.pass(10);
  await until(() => sentTo("[Resolved]").length > 0);
  refusedAddresses.clear();
  await until(async () => {
    await scene.pass(10);
    return await isSent("end");
  });
  expect(sentTo("[Alert]")).toEqual(["Ada@example.com"]);
  expect(sentTo("[Resolved]")).toEqual(["Ada@example.com", "gone@example.com"]);
});

test("secrets are never answered and never logged", async () => {
  const secrets = ["/services/T0/secretpath", "routing-key-secret", "Bearer authsecret"];
  const bodies = [
    { type: "slack", url: `${receiver.url}services/T0/secretpath` },
    { type: "pagerduty", routingKey: secrets[1], url: receiver.url },
    { type: "webhook", url: `${receiver.url}?token=urlsecret`, authorization: secrets[2] },
    { type: "email", to: ["ada@example.com"] },
  ];
  receiver.answer(() => new Response(secrets.join(), { status: 500 }));
  const answers: unknown[] = [];
  for (const body of bodies) {
    const made = await scene.call("POST", "/v2/alerts/receivers", { name: "On call", ...body });
    const { id } = made.receiver;
    answers.push(made, await scene.call("GET", `/v2/alerts/receivers/${id}`));
    answers.push(await scene.call("POST", `/v2/alerts/receivers/${id}/test`));
  }
  answers.push(
    await scene.call("GET", "/v2/alerts/receivers"),
    await scene.call("GET", "/v2/alerts"),
  );
  for (const secret of [...secrets, "urlsecret", PASSWORD]) {
    expect(JSON.stringify(answers)).not.toContain(secret);
    expect(scene.api.log()).not.toContain(secret);
  }
});

test("a secret does not follow a URL to another host", async () => {
  const id = await create({ type: "webhook", url: receiver.url, authorization: "Bearer s3cret" });
  const path = `/v2/alerts/receivers/${id}`;
  const url = "http://other.example/";
  const refused = await scene.api.send("PUT", path, { body: { url } });
  expect(refused.status).toBe(400);
  expect(refused.body.details[0].path).toBe("/authorization");
  await scene.call("PUT", path, { url: `${receiver.url}other` });
  await scene.call("PUT", path, { url, authorization: "Bearer other" });
});

test("a secret does not follow a URL out of TLS", async () => {
  const url = "https://hooks.example/";
  const id = await create({ type: "webhook", url, authorization: "Bearer s3cret" });
  const body = { url: "http://hooks.example/" };
  const refused = await scene.api.send("PUT", `/v2/alerts/receivers/${id}`, { body });
  expect([refused.status, refused.body.details?.[0].path]).toEqual([400, "/authorization"]);
});

test("a private address is refused, unless the operator permits it", async () => {
  const id = await create({ type: "webhook", url: "http://10.0.0.1/" });
  const { ok, message } = await scene.call("POST", `/v2/alerts/receivers/${id}/test`);
  expect(ok).toBe(false);
  expect(message).toContain("egress.allow");
});

test("a redirect is not followed", async () => {
  const other = startReceiver();
  receiver.answer(() => Response.redirect(other.url, 302));
  const id = await create({ type: "webhook", url: receiver.url });
  expect(await scene.call("POST", `/v2/alerts/receivers/${id}/test`)).toEqual({
    ok: false,
    message: "HTTP 302 from receiver; redirects are not followed",
  });
  expect(other.got).toEqual([]);
  other.stop();
});

test("an endless answer is cut off", async () => {
  let isCancelled = false;
  receiver.answer(() => {
    const chunk = new Uint8Array(16 << 10);
    const body = new ReadableStream({
      async pull(controller) {
        await Bun.sleep(0);
        controller.enqueue(chunk);
      },
      cancel() {
        isCancelled = true;
      },
    });
    return new Response(body);
  });
  const id = await create({ type: "webhook", url: receiver.url });
  expect(await scene.call("POST", `/v2/alerts/receivers/${id}/test`)).toEqual({ ok: true });
  await until(() => isCancelled);
});

test("a receiver that hangs delays no other receiver", async () => {
  const hanging = startReceiver();
  hanging.answer(() => new Promise(() => {}));
  await create({ type: "webhook", url: hanging.url });
  await create({ type: "webhook", url: receiver.url });
  scene.facts.lane = { lagSeconds: 1_000 };
  await scene.pass(10);
  await until(() => receiver.got.length === 1 && hanging.got.length === 1);
  hanging.stop();
});

test("a receiver that fails gets the notification later, and is a problem until then", async () => {
  let isFailing = true;
  receiver.answer(() => new Response("", { status: isFailing ? 503 : 200 }));
  const id = await create({ type: "webhook", url: receiver.url });
  scene.facts.lane = { lagSeconds: 1_000 };
  await scene.pass(10);
  const shown = async () => (await scene.call("GET", `/v2/alerts/receivers/${id}`)).receiver;
  await until(async () => (await shown()).failingSince !== undefined);
  expect(await shown()).toMatchObject({ reason: "HTTP 503 from receiver" });
  const problems = async () => (await scene.call("GET", "/v2/overview")).problems;
  expect(await problems()).toContainEqual(
    expect.objectContaining({ kind: "alert-receiver", receiverId: id }),
  );
  // The alert is about the lag: one row.
  expect((await problems()).map(({ kind }: { kind: string }) => kind)).toEqual([
    "destination-lagging",
    "alert-receiver",
  ]);
  // Sixty checks of the rules are a few attempts.
  await scene.pass(600);
  const attempts = receiver.got.length;
  expect(attempts).toBeLessThan(15);
  isFailing = false;
  await scene.pass(600);
  await until(async () => (await shown()).failingSince === undefined);
  expect(receiver.got.length).toBe(attempts + 1);
  const bodies = new Set(receiver.got.map(({ headers }) => headers.get("idempotency-key")));
  expect(bodies.size).toBe(1);
  expect(await problems()).not.toContainEqual(expect.objectContaining({ kind: "alert-receiver" }));
});

test.each([
  [{ type: "slack" }, "/url"],
  [{ type: "webhook", url: "ftp://example.com" }, "/url"],
  [{ type: "webhook", url: "https://user:password@example.com" }, "/url"],
  [{ type: "pagerduty", url: "https://example.com" }, "/routingKey"],
  [{ type: "email", to: [] }, "/to"],
  [{ type: "email", to: ["no-address"] }, "/to/0"],
  [{ type: "slack", url: "https://example.com", routingKey: "x" }, "/routingKey"],
  [{ type: "webhook", url: "https://example.com", authorization: "a\r\nb: c" }, "/authorization"],
])("the receiver %j is refused at %s", async (body, path) => {
  const sent = { body: { name: "On call", ...body }, unchecked: true };
  const { status, body: answer } = await scene.api.send("POST", "/v2/alerts/receivers", sent);
  expect(status).toBe(400);
  expect(answer.details[0].path).toBe(path);
});

test("tests beyond the hourly number are refused", async () => {
  const id = await create({ type: "webhook", url: receiver.url });
  let refused = 0;
  for (let sent = 0; sent <= ALERT_NOTIFICATIONS_PER_HOUR_MAX && refused === 0; sent += 1) {
    const { status } = await scene.api.send("POST", `/v2/alerts/receivers/${id}/test`);
    if (status === 429) refused += 1;
  }
  expect(refused).toBe(1);
});

test("the secrets of a receiver are listed as set, and an optional one is removed by null", async () => {
  const set = async (id: string) =>
    (await scene.call("GET", `/v2/alerts/receivers/${id}`)).receiver.secretsSet;
  const webhook = await create({ type: "webhook", url: receiver.url, authorization: "Bearer a" });
  expect(await set(webhook)).toEqual(["/url", "/authorization"]);
  await scene.call("PUT", `/v2/alerts/receivers/${webhook}`, { name: "Same secrets" });
  expect(await set(webhook)).toEqual(["/url", "/authorization"]);
  await scene.call("PUT", `/v2/alerts/receivers/${webhook}`, { authorization: null });
  expect(await set(webhook)).toEqual(["/url"]);

  const required = { url: null };
  const refused = await scene.api.send("PUT", `/v2/alerts/receivers/${webhook}`, {
    body: required,
  });
  expect([refused.status, refused.body.details[0].path]).toEqual([400, "/url"]);
  expect(await set(webhook)).toEqual(["/url"]);

  const email = await create({ type: "email", to: ["a@example.com"] });
  expect(await set(email)).toEqual([]);
});
