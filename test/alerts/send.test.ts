import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import net from "node:net";
import tls from "node:tls";
import { SMTPServer } from "smtp-server";
import {
  type MailServer,
  sendByEmail,
  verifyMailServer,
} from "../../src/alerts/receivers/email.ts";
import { PAGERDUTY_URL } from "../../src/alerts/receivers/http.ts";
import { alertMessage } from "../../src/alerts/receivers/message.ts";
import { createSender, NO_MAIL_SERVER } from "../../src/alerts/receivers/send.ts";
import type { Alert, AlertPhase, AlertReceiver } from "../../src/catalog/alerts/model.ts";
import type { Egress } from "../../src/egress/egress.ts";
import { ca, good } from "../egress/tls.ts";

const alert: Alert = {
  ...{ id: "a1", workspaceId: "w1", ruleId: "rule", ruleName: "Lag", kind: "lag" },
  subject: { type: "destination", id: "d1", name: "Shop & <!here>" },
  ...{ message: "Shop lags", createdAt: 0, endedAt: 90_000, notifications: [] },
};

const messageOf = (phase: AlertPhase | "test", of: Partial<Alert> = {}) =>
  alertMessage(
    { ...alert, ...of },
    {
      ...{ phase, receiverId: "r1", consoleUrl: "https://console" },
      workspace: { id: "w1", name: "Acme" },
    },
  );

const receiverOf = (more: Partial<AlertReceiver>): AlertReceiver => ({
  ...{ id: "r1", workspaceId: "w1", name: "On call", type: "webhook", enabled: true },
  ...{ createdAt: 0, updatedAt: 0 },
  ...more,
});

const { signal } = new AbortController();

/** Sends a message over HTTP; resolves with the request and with the result of this status. */
async function sendWith(
  receiver: Partial<AlertReceiver>,
  message = messageOf("begin"),
  status: number | Error = 200,
) {
  const requests: any[] = [];
  const egress = {
    async request(request: { body: Buffer }) {
      requests.push({ ...request, body: JSON.parse(request.body.toString()) });
      if (status instanceof Error) throw status;
      return { status };
    },
  } as unknown as Egress;
  const send = createSender({ egress, mailEgress: egress, mailServer: () => undefined });
  const result = await send(receiverOf(receiver), message, signal);
  return { result, request: requests[0] };
}

const link = "https://console/#/destinations/d1";

test("a webhook gets a POST of JSON with a key of its notification, and its authorization if it has one", async () => {
  const url = "https://hook.test/";
  const { request } = await sendWith({ url, authorization: "Bearer x" });
  expect(request).toMatchObject({
    ...{ url, method: "POST", workspaceId: "w1", isRepeatable: true, signal },
    headers: {
      "Content-Type": "application/json",
      "Idempotency-Key": "a1-begin-r1",
      Authorization: "Bearer x",
    },
    body: { type: "alert.began", dedupKey: "pixelmill-a1", url: link, workspace: { name: "Acme" } },
  });
  const types = await Promise.all(
    (["begin", "end", "test"] as const).map(async (phase) => {
      const { request } = await sendWith({ url }, messageOf(phase));
      return [request.body.type, "Authorization" in request.headers];
    }),
  );
  expect(types).toEqual([
    ["alert.began", false],
    ["alert.ended", false],
    ["alert.test", false],
  ]);
});

test("Slack gets a text with an icon and a link, in which no name has an effect", async () => {
  const texts = await Promise.all(
    (["begin", "end", "test"] as const).map(async (phase) => {
      const { request } = await sendWith({ type: "slack", url: "https://s" }, messageOf(phase));
      expect(Object.keys(request.headers)).toEqual(["Content-Type"]);
      return request.body.text.split("\n");
    }),
  );
  const name = "Lag: Shop &amp; &lt;!here&gt;";
  expect(texts.map(([title]) => title)).toEqual([
    `:rotating_light: *[Alert] ${name}*`,
    `:white_check_mark: *[Resolved] ${name}*`,
    `:bell: *[Test] ${name}*`,
  ]);
  const rest = ["Acme", `<${link}|Open in console>`];
  expect(texts[0]!.slice(1)).toEqual(["Shop lags", ...rest]);
  expect(texts[1]!.slice(1)).toEqual(["Resolved after 90 s: Shop lags", ...rest]);
});

test("PagerDuty gets an incident that its end resolves, and a test as information", async () => {
  const pager = { type: "pagerduty" as const, routingKey: "key" };
  const { request } = await sendWith(pager);
  expect(request.url).toBe(PAGERDUTY_URL);
  expect(request.headers).toEqual({ "Content-Type": "application/json" });
  expect(request.body).toEqual({
    ...{ routing_key: "key", event_action: "trigger", dedup_key: "pixelmill-a1" },
    payload: {
      summary: "[Alert] Lag: Shop & <!here>: Shop lags",
      ...{ source: "Shop & <!here>", severity: "warning", component: "destination" },
      ...{ group: "Acme", class: "lag", timestamp: "1970-01-01T00:00:00.000Z" },
    },
    links: [{ href: link, text: "Open in console" }],
    ...{ client: "pixelmill", client_url: link },
  });
  const end = await sendWith({ ...pager, url: "https://eu.test/" }, messageOf("end"));
  expect([end.request.url, end.request.body]).toEqual([
    "https://eu.test/",
    { routing_key: "key", event_action: "resolve", dedup_key: "pixelmill-a1" },
  ]);
  const tried = await sendWith(pager, messageOf("test"));
  expect(tried.request.body.payload.severity).toBe("info");
  const long = await sendWith(pager, messageOf("begin", { message: "x".repeat(3_000) }));
  expect(long.request.body.payload.summary).toHaveLength(1_024);
});

test("a notification is sent at a status of success, and repeated at any other", async () => {
  const redirected = (status: number) => `HTTP ${status} from receiver; redirects are not followed`;
  const table: [status: number | Error, reason: string | undefined][] = [
    [199, "HTTP 199 from receiver"],
    [200, undefined],
    [299, undefined],
    [300, redirected(300)],
    [399, redirected(399)],
    [400, "HTTP 400 from receiver"],
    [503, "HTTP 503 from receiver"],
    [new Error("The receiver closed the connection"), "The receiver closed the connection"],
    [
      Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:9"), { code: "ECONNREFUSED" }),
      "The request failed: connection refused (ECONNREFUSED)",
    ],
  ];
  for (const [status, reason] of table) {
    const { result } = await sendWith({ url: "https://h" }, messageOf("begin"), status);
    expect(result).toEqual(reason === undefined ? { kind: "sent" } : { kind: "retry", reason });
  }
});

test("a message links to the screen of its item, has a title on one line, and its end if it has one", () => {
  const table: [kind: Alert["kind"], type: Alert["subject"]["type"], fragment: string][] = [
    ["lag", "destination", "destinations/d1"],
    ["dead-letters", "destination", "dead-letters?destinationId=d1"],
    ["code-suspended", "transformation", "transformations/d1"],
    ["source-silent", "source", "sources/d1"],
    ["disk", "node", "system"],
    ["server-warning", "server", "system"],
  ];
  for (const [kind, type, fragment] of table) {
    const { url } = messageOf("begin", { kind, subject: { type, id: "d1", name: "x" } });
    expect(url).toBe(`https://console/#/${fragment}`);
  }
  const subject = { ...alert.subject, name: `a\r\n\u2028b${"c".repeat(300)}` };
  const { title } = messageOf("begin", { subject });
  expect(title).toStartWith("[Alert] Lag: a bc");
  expect(title).toHaveLength(200);
  const faces = { ...alert.subject, name: "😀".repeat(300) };
  const begun = [messageOf("begin", { subject: faces }), messageOf("test", { subject: faces })];
  expect(begun.map((it) => [it.title.isWellFormed(), it.title.length])).toEqual([
    [true, 199],
    [true, 200],
  ]);
  const { endedAt: _, ...open } = alert;
  const times = [open, alert].map((it) => {
    const context = { phase: "end" as const, receiverId: "r1", consoleUrl: "" };
    const { alert: told, text } = alertMessage(it, {
      ...context,
      workspace: { id: "w1", name: "A" },
    });
    return [told.beganAt, told.endedAt, text];
  });
  const began = "1970-01-01T00:00:00.000Z";
  expect(times).toEqual([
    [began, undefined, "Resolved: Shop lags\nA"],
    [began, "1970-01-01T00:01:30.000Z", "Resolved after 90 s: Shop lags\nA"],
  ]);
});

test("a mail waits while the operator has set no mail server", async () => {
  const { result, request } = await sendWith({ type: "email", to: ["a@x.test"] });
  expect(result).toEqual({ kind: "retry", reason: NO_MAIL_SERVER });
  expect(request).toBeUndefined();
});

describe("a mail server", () => {
  interface Mail {
    from: string;
    to: string[];
    text: string;
    isSecure: boolean;
    user: string | undefined;
  }
  const mails: Mail[] = [];
  const servers: SMTPServer[] = [];
  const ports = new Map<string, number>();

  async function listen(name: string, options: object): Promise<void> {
    const server = new SMTPServer({
      ...{ logger: false, key: good.key, cert: good.cert, authOptional: true },
      onAuth: ({ username, password }, _session, done) =>
        password === "right" ? done(null, { user: username }) : done(new Error("Refused")),
      onRcptTo: ({ address }, _session, done) =>
        done(address.startsWith("gone@") ? new Error("No such user") : null),
      onData(stream, { envelope, secure, user }, done) {
        let text = "";
        stream.on("data", (part: Buffer) => {
          text += part;
        });
        stream.on("end", () => {
          const from = envelope.mailFrom ? envelope.mailFrom.address : "";
          const to = envelope.rcptTo.map((it) => it.address);
          mails.push({ from, to, text, isSecure: secure, user: user ? String(user) : undefined });
          done();
        });
      },
      ...options,
    });
    // A client that refuses the certificate hangs up.
    server.on("error", () => {});
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    servers.push(server);
    ports.set(name, (server.server.address() as { port: number }).port);
  }

  beforeAll(async () => {
    await listen("starttls", {});
    await listen("implicit", { secure: true });
    await listen("plain", { disabledCommands: ["STARTTLS"] });
    await listen("full", {
      onMailFrom: (_: unknown, _session: unknown, done: (error: Error) => void) =>
        done(Object.assign(new Error("long text of the server"), { responseCode: 452 })),
    });
  });
  afterAll(() => {
    for (const server of servers) server.close();
  });

  /** Connects as the real egress does, which verifies the certificate of the server. */
  const egress = {
    connect: ({
      host,
      port,
      tls: secured,
    }: {
      host: string;
      port: number;
      tls?: { ca?: string };
    }) =>
      new Promise((resolve, reject) => {
        const to = { host: "127.0.0.1", port };
        const socket: net.Socket = secured
          ? tls.connect({ ...to, servername: host, ca: secured.ca }, () => resolve(socket))
          : net.connect(to, () => resolve(socket));
        socket.once("error", reject);
      }),
  } as unknown as Egress;

  const serverOf = (name: string, more: Partial<MailServer> = {}): MailServer => ({
    ...{ host: "good.test", port: ports.get(name)!, tls: "starttls", ca },
    from: "alerts@example.test",
    ...more,
  });

  async function mail(
    server: MailServer,
    to: string[] = ["a@x.test"],
    phase: AlertPhase = "begin",
    by = signal,
  ) {
    mails.length = 0;
    const receiver = receiverOf({ type: "email", to });
    return await sendByEmail(egress, server, receiver, messageOf(phase), by);
  }

  const signedIn = { user: "pixelmill", password: "right" };

  test("gets a mail by each kind of encryption, signed in if it has a user", async () => {
    const table: [name: string, more: Partial<MailServer>, isSecure: boolean, user?: string][] = [
      ["starttls", signedIn, true, "pixelmill"],
      ["starttls", { user: "pixelmill" }, true],
      ["starttls", { tls: "none" }, false],
      ["implicit", { tls: "implicit", ...signedIn }, true, "pixelmill"],
      ["plain", { tls: "none" }, false],
    ];
    for (const [name, more, isSecure, user] of table) {
      const server = serverOf(name, more);
      expect([name, await mail(server)]).toEqual([name, { kind: "sent" }]);
      expect(mails).toMatchObject([
        { from: "alerts@example.test", to: ["a@x.test"], isSecure, user },
      ]);
      expect(await verifyMailServer(egress, server)).toBeUndefined();
    }
  });

  test("gets a subject, a link, and an end that refers to its beginning", async () => {
    const headerOf = (name: string) =>
      new RegExp(`^${name}:\\s+(.*)\\r$`, "im").exec(mails[0]!.text)?.[1];
    await mail(serverOf("plain", { tls: "none" }));
    const id = "<a1-begin-r1@example.test>";
    expect(["Subject", "Message-ID", "References", "Auto-Submitted"].map(headerOf)).toEqual([
      ...["[Alert] Lag: Shop & <!here>", id, undefined, "auto-generated"],
    ]);
    expect(mails[0]!.text).toEndWith(`Shop lags\r\nAcme\r\n\r\n${link}\r\n`);
    await mail(serverOf("plain", { tls: "none" }), ["a@x.test"], "end");
    expect(headerOf("References")).toBe(id);
  });

  test("that does not get the mail is named with a reason, and who got it", async () => {
    const refused = (reason: string, accepted: string[] = []) => ({
      kind: "retry" as const,
      reason,
      accepted,
    });
    const none = serverOf("plain", { tls: "none" });
    expect(await mail(none, ["A@X.test", "gone@x.test"])).toEqual(
      refused("The mail server refused an address of the receiver", ["A@X.test"]),
    );
    expect(await mail(none, ["a@Bücher.test", "gone@x.test"])).toEqual(
      refused("The mail server refused an address of the receiver", ["a@Bücher.test"]),
    );
    expect(await mail(none, ["gone@x.test"])).toEqual(refused("The mail server answered 550"));
    expect(await mail(serverOf("full", { tls: "none" }))).toEqual(
      refused("The mail server answered 452"),
    );
    const wrong = serverOf("starttls", { user: "pixelmill", password: "wrong" });
    const reason = "The mail server refused the user or the password (smtp.user)";
    expect(await mail(wrong)).toEqual(refused(reason));
    expect(await verifyMailServer(egress, wrong)).toBe(reason);
    // One that does not encrypt, or whose certificate is unknown, gets neither mail nor password.
    for (const server of [serverOf("plain", signedIn), serverOf("starttls", { ca: "" })]) {
      expect((await mail(server)).kind).toBe("retry");
    }
    expect((await mail(serverOf("implicit", { tls: "implicit", ca: "" }))).kind).toBe("retry");
    expect(mails).toEqual([]);
  });

  test("that cannot be reached is described without its address and its text", async () => {
    const reasonOf = async (server: MailServer) => {
      const { reason } = (await mail(server)) as { reason: string };
      expect(await verifyMailServer(egress, server)).toBe(reason);
      return reason;
    };
    const failed = "The connection to the mail server failed";
    const closed = { ...serverOf("plain"), port: 1 };
    expect(await reasonOf(closed)).toBe(`${failed}: connection refused (ECONNREFUSED)`);
    const implicit = serverOf("implicit", { tls: "implicit", host: "internal.test" });
    expect(await reasonOf(implicit)).toStartWith("The mail server's certificate is not accepted");
    expect(await reasonOf(serverOf("starttls", { host: "internal.test" }))).not.toContain(".test");
    const web = net.createServer((socket) => socket.write("HTTP/1.1 400 Bad Request\r\n\r\n"));
    await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
    const { port } = web.address() as net.AddressInfo;
    expect(await reasonOf({ ...serverOf("plain"), port })).toBe(
      "The mail server's answer is not one of SMTP",
    );
    web.close();
  });

  test("is not waited for when the server stops", async () => {
    const late = AbortSignal.abort();
    const reason = "The mail server did not answer in time";
    const result = await mail(serverOf("plain", { tls: "none" }), ["a@x.test"], "begin", late);
    expect(result).toEqual({ kind: "retry", reason, accepted: [] });
    const silent = net.createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port } = silent.address() as net.AddressInfo;
    const cut = new AbortController();
    silent.once("connection", () => cut.abort());
    expect(await mail({ ...serverOf("plain"), port }, ["a@x.test"], "begin", cut.signal)).toEqual(
      result,
    );
    silent.close();
  });
});
