import { afterAll, beforeAll, expect } from "bun:test";
import { copyFileSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { TLS_HANDSHAKES_MAX } from "../../src/settings/limits.ts";
import { missingPrograms, testWith } from "../counterpart.ts";
import { block } from "../docs/markdown.ts";
import { pixelmillCommand } from "./command.ts";
import {
  ADMIN_TOKEN,
  removeDirectory,
  type Server,
  startServer,
  temporaryDirectory,
  waitFor,
} from "./server.ts";

/** TLS on both planes, with real clients. */
const missing = missingPrograms("openssl", "curl");
const tlsTest = testWith(missing);
const directory = temporaryDirectory();
const files = join(directory, "tls");
const at = (name: string) => join(files, name);
let server: Server;

beforeAll(async () => {
  if (missing !== undefined) return;
  mkdirSync(files);
  for (const name of ["first", "second", "clients"]) await selfSigned(name, 365);
  await selfSigned("short", 1);
  await signedByClients("client");
  use("first");
  server = await startServer({ directory, flags: tlsFlags });
}, 300_000);
afterAll(async () => {
  await server?.stop();
  removeDirectory(directory);
});

const tlsFlags = [
  ...["--tls-certificate", at("in-use.crt"), "--tls-key", at("in-use.key")],
  ...["--admin-tls-certificate", at("in-use.crt"), "--admin-tls-key", at("in-use.key")],
];

async function run(...command: string[]) {
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { code: await child.exited, output, errors };
}

async function selfSigned(name: string, days: number) {
  const { code, errors } = await run(
    ...["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
    ...["-nodes", "-days", String(days), "-subj", `/CN=${name}.test`],
    ...["-addext", "subjectAltName=IP:127.0.0.1"],
    ...["-keyout", at(`${name}.key`), "-out", at(`${name}.crt`)],
  );
  expect({ code, errors }).toMatchObject({ code: 0 });
}

async function signedByClients(name: string) {
  await run(
    ...["openssl", "req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", `/CN=${name}`],
    ...["-keyout", at(`${name}.key`), "-out", at(`${name}.csr`)],
  );
  await run(
    ...["openssl", "x509", "-req", "-in", at(`${name}.csr`), "-days", "9", "-CAcreateserial"],
    ...["-CA", at("clients.crt"), "-CAkey", at("clients.key"), "-out", at(`${name}.crt`)],
  );
}

/** Replaces certificate and key in use, each at once. */
function use(certificate: string, key = certificate) {
  for (const [from, to] of [
    [`${certificate}.crt`, "in-use.crt"],
    [`${key}.key`, "in-use.key"],
  ]) {
    copyFileSync(at(from!), at("part"));
    renameSync(at("part"), at(to!));
  }
}

/** Connects, and returns the name in the server's certificate with the protocol. */
function handshake(url: string, options: object = {}) {
  const { port } = new URL(url);
  return new Promise<{ name: string; protocol: string | null; socket: ReturnType<typeof connect> }>(
    (resolve, reject) => {
      const socket = connect(
        { host: "127.0.0.1", port: Number(port), rejectUnauthorized: false, ...options },
        () => {
          const name = String(socket.getPeerCertificate().subject.CN);
          resolve({ name, protocol: socket.getProtocol(), socket });
        },
      );
      socket.on("error", reject);
    },
  );
}

async function nameAt(url: string): Promise<string> {
  const { name, socket } = await handshake(url);
  socket.destroy();
  return name;
}

const curl = (...args: string[]) => run("curl", "-sS", "--cacert", at("first.crt"), ...args);
const metric = async (name: string) => {
  const { output } = await run("curl", "-ksS", `${server.controlPlane}/metrics`);
  return Number(output.match(new RegExp(`^${name}.* (\\S+)$`, "m"))?.[1]);
};
const ready = async () => {
  const { output } = await run("curl", "-ksS", `${server.controlPlane}/ready`);
  return JSON.parse(output) as { warnings: string[] };
};

tlsTest(
  "curl and fetch reach both planes with TLS 1.2 and 1.3, and neither without TLS",
  async () => {
    expect([server.dataPlane, server.controlPlane].map((url) => new URL(url).protocol)).toEqual([
      "https:",
      "https:",
    ]);
    for (const url of [`${server.dataPlane}/health`, `${server.controlPlane}/health`]) {
      for (const version of ["1.2", "1.3"]) {
        const { code } = await curl("--fail", `--tlsv${version}`, "--tls-max", version, url);
        expect({ url, version, code }).toEqual({ url, version, code: 0 });
      }
      expect((await curl("--tls-max", "1.1", url)).code).not.toBe(0);
      expect((await curl(url.replace("https:", "http:"))).code).not.toBe(0);
      const ca = await Bun.file(at("first.crt")).text();
      expect((await fetch(url, { tls: { ca } })).status).toBe(200);
    }
  },
  300_000,
);

tlsTest(
  "pixels share a connection, and an API request with a body of 100 kB passes",
  async () => {
    const headers = ["-H", `Authorization: Bearer ${ADMIN_TOKEN}`];
    const source = await curl(
      ...headers,
      ...["-H", "Content-Type: application/json", "-d", '{"name":"Site","type":"pixel"}'],
      `${server.controlPlane}/v2/sources`,
    );
    const { writeKey } = JSON.parse(source.output).source;
    const pixel = `${server.dataPlane}/pixel/v1/page?writeKey=${writeKey}&anonymousId=a`;
    const codes = ["-o", "/dev/null", "-o", "/dev/null", "-w", "%{http_code} %{num_connects}\n"];
    expect((await curl(...codes, pixel, pixel)).output).toBe("200 1\n200 0\n");

    const code = `export function transformEvent(e) { return e; } // ${"x".repeat(100_000)}`;
    await Bun.write(at("body"), JSON.stringify({ name: "T", language: "javascript", code }));
    const made = await curl(
      ...headers,
      ...["-H", "Content-Type: application/json", "--data-binary", `@${at("body")}`],
      `${server.controlPlane}/transformations`,
    );
    expect(JSON.parse(made.output).code).toBe(code);
  },
  300_000,
);

tlsTest(
  "a request past TLS, from this machine, is refused",
  async () => {
    const { output } = await run("sh", "-c", `cat /proc/${server.pid}/net/tcp`);
    const inodes = (await run("sh", "-c", `ls -l /proc/${server.pid}/fd`)).output;
    const ports = output
      .split("\n")
      .map((line) => line.trim().split(/\s+/))
      .filter(
        ([, , , state, , , , , , inode]) => state === "0A" && inodes.includes(`socket:[${inode}]`),
      )
      .map(([, local]) => Number.parseInt(local!.split(":")[1]!, 16));
    const known = [server.dataPlane, server.controlPlane].map((url) => Number(new URL(url).port));
    const [inner] = ports.filter((port) => !known.includes(port));
    const response = await fetch(`http://127.0.0.1:${inner}/health`);
    expect({ status: response.status, body: await response.json() }).toEqual({
      status: 403,
      body: { message: "Expected a connection with TLS" } as never,
    });
  },
  300_000,
);

tlsTest(
  "new files are used without a dropped connection, and a wrong pair changes nothing",
  async () => {
    const kept = await Promise.all(
      [server.dataPlane, server.controlPlane].map(async (url) => {
        const { name, socket } = await handshake(url);
        expect(name).toBe("first.test");
        let answer = "";
        socket.on("data", (bytes) => {
          answer += bytes;
        });
        return { socket, answer: () => answer };
      }),
    );
    // The old key does not belong to the new certificate.
    use("second", "first");
    await waitFor(() => server.errors().split("files of TLS not used").length === 3 || undefined);
    expect(await nameAt(server.dataPlane)).toBe("first.test");
    expect(await nameAt(server.controlPlane)).toBe("first.test");
    const warnings = await waitFor(async () => {
      const all = (await ready()).warnings.filter((it) => it.includes("TLS files"));
      return all.length === 2 ? all : undefined;
    });
    expect(warnings[0]).toStartWith(
      "The former TLS files of the data plane stay in use: Cannot use ",
    );
    await waitFor(
      async () => (await metric("pixelmill_tls_files_usable_ratio")) === 0 || undefined,
    );

    use("second");
    for (const url of [server.dataPlane, server.controlPlane]) {
      await waitFor(async () => (await nameAt(url)) === "second.test" || undefined);
    }
    for (const { socket, answer } of kept) {
      socket.write("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
      await waitFor(() => answer().startsWith("HTTP/1.1 200 ") || undefined);
      socket.destroy();
    }
  },
  300_000,
);

tlsTest(
  "a client that does not complete its handshake is disconnected, and counted",
  async () => {
    const silent = (url: string) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const socket = { data() {}, close: () => resolve() };
      const port = Number(new URL(url).port);
      // The server may end a connection before the client knows that it is open.
      Bun.connect({ hostname: "127.0.0.1", port, socket }).catch(() => resolve());
      return promise;
    };
    await Promise.all([silent(server.dataPlane), silent(server.controlPlane)]);
    // One more than may be incomplete ends the oldest at once, though its time is not over.
    const many = Array.from({ length: TLS_HANDSHAKES_MAX + 1 }, () => silent(server.controlPlane));
    await Promise.any(many);
    for (const plane of ["data", "control"]) {
      const name = `pixelmill_tls_failed_handshakes_total{plane="${plane}"`;
      await waitFor(async () => (await metric(name)) > 0 || undefined);
    }
  },
  300_000,
);

tlsTest(
  "the commands of docs/tls.md make a certificate, and reach the server with it",
  async () => {
    const page = await Bun.file("docs/tls.md").text();
    const [make, serve, ask] = block(page, "sh").trim().split("\n");
    const cwd = temporaryDirectory();
    expect((await run("sh", "-c", `cd ${cwd} && ${make}`)).code).toBe(0);
    const flags = serve!.replace("pixelmill serve ", "").split(" ");
    const tried = await startServer({ directory: cwd, flags });
    const host = new URL(tried.dataPlane).port;
    const command = ask!.replace("localhost:8080", `localhost:${host}`);
    const { output } = await run("sh", "-c", `cd ${cwd} && ${command}`);
    expect(output).toContain("ok");
    expect(await tried.stop()).toBe(0);
    removeDirectory(cwd);
  },
  300_000,
);

tlsTest(
  "a certificate that ends soon is a warning, and its end a metric",
  async () => {
    use("short");
    await waitFor(async () => (await nameAt(server.controlPlane)) === "short.test" || undefined);
    const [, end] = (
      await run("openssl", "x509", "-noout", "-enddate", "-in", at("short.crt"))
    ).output
      .trim()
      .split("=");
    await waitFor(
      async () =>
        (await metric("pixelmill_tls_expiry_timestamp_seconds")) === Date.parse(end!) / 1_000 ||
        undefined,
    );
    expect((await ready()).warnings.join()).toContain(
      "The TLS certificate of the control plane ends at",
    );
  },
  300_000,
);

tlsTest(
  "the listener for rudder-server speaks TLS, and takes renewed files without a dropped connection",
  async () => {
    use("first");
    const data = join(directory, "transformer");
    const flags = [
      ...["--data", data, "--transformer-port", "0"],
      ...["--transformer-tls-certificate", at("in-use.crt")],
      ...["--transformer-tls-key", at("in-use.key")],
    ];
    const tried = await startServer({ flags });
    const url = await waitFor(
      () => /transformer listening on (https:\S+)/.exec(tried.output())?.[1],
    );
    const { name, socket } = await handshake(url);
    expect(name).toBe("first.test");
    let answers = "";
    socket.on("data", (bytes) => {
      answers += bytes;
    });
    // A request without TLS gets no answer.
    expect((await curl(`${url.replace("https:", "http:")}/health`)).code).not.toBe(0);
    use("second");
    await waitFor(async () => (await nameAt(url)) === "second.test" || undefined);
    socket.write("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await waitFor(() => answers.startsWith("HTTP/1.1 200 ") || undefined);
    socket.destroy();
    // A wrong pair changes nothing, and is a warning.
    use("first", "second");
    const warnings = await waitFor(async () => {
      const { body } = await tried.api("GET", "/ready");
      return body.warnings.join().includes("TLS files") ? body.warnings.join() : undefined;
    });
    expect(warnings).toContain("The former TLS files of the transformer listener stay in use: ");
    expect(await nameAt(url)).toBe("second.test");
    const metrics = await (await fetch(`${tried.controlPlane}/metrics`)).text();
    for (const metric of ["tls_expiry_timestamp_seconds", "tls_files_usable_ratio"]) {
      expect(metrics).toContain(`pixelmill_${metric}{plane="transformer"`);
    }
    expect(metrics).toMatch(
      /^pixelmill_tls_failed_handshakes_total{plane="transformer"[^}]*} [1-9]/m,
    );
    expect(await tried.stop()).toBe(0);
    removeDirectory(tried.directory);
  },
  300_000,
);

tlsTest(
  "the control plane asks for clients' certificates",
  async () => {
    use("first");
    const other = temporaryDirectory();
    const flags = [...tlsFlags, "--admin-tls-clients", at("clients.crt")];
    const strict = await startServer({ directory: other, flags });
    const url = `${strict.controlPlane}/health`;
    const own = ["--cert", at("client.crt"), "--key", at("client.key")];
    expect((await curl("--fail", ...own, url)).code).toBe(0);
    expect((await curl(url)).code).not.toBe(0);
    const foreign = ["--cert", at("second.crt"), "--key", at("second.key")];
    expect((await curl(...foreign, url)).code).not.toBe(0);
    expect((await curl("--fail", `${strict.dataPlane}/health`)).code).toBe(0);
    expect(await strict.stop()).toBe(0);
    removeDirectory(other);
  },
  300_000,
);

const wrong: [flags: string[], reason: string][] = [
  [["--tls-certificate", at("first.crt")], "Settings tls.certificate and tls.key need each other"],
  [
    ["--tls-certificate", at("first.crt"), "--tls-key", at("second.key")],
    "they do not belong together",
  ],
  [["--tls-certificate", at("none.crt"), "--tls-key", at("first.key")], "Cannot read the file "],
  [["--tls-certificate", at("first.key"), "--tls-key", at("first.key")], "Cannot use the certifi"],
  [["--admin-tls-clients", at("clients.crt")], "admin.tls.clients needs admin.tls.certificate"],
];
tlsTest(
  "a start with TLS files that cannot be used is an error with its reason",
  async () => {
    const data = join(directory, "not-started");
    for (const [flags, reason] of wrong) {
      const { code, errors } = await run(...pixelmillCommand, "serve", "--data", data, ...flags);
      expect({ code, errors }).toEqual({ code: 1, errors: expect.stringContaining(reason) });
    }
  },
  300_000,
);
