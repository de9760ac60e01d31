import { expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:tls";
import { pino } from "pino";
import { Registry } from "prom-client";
import type { Sandbox } from "../../src/sandbox/guest-sandbox.ts";
import type { TlsKeys } from "../../src/settings/files/tls-files.ts";
import type { Config } from "../../src/settings/keys.ts";
import { openTransformer } from "../../src/transformer/listener.ts";
import { freshWorkspace } from "../catalog/_setup.ts";
import { missingPrograms, testWith } from "../counterpart.ts";
import { newKeys } from "../http/new-keys.ts";
import { until } from "../until.ts";

const settings = { "transformer.port": 0, "transformer.host": "127.0.0.1" } as Config;

async function open(config: Config, keys: TlsKeys | undefined) {
  const { catalog } = await freshWorkspace();
  const uses: ((keys: TlsKeys) => void)[] = [];
  const planes: unknown[] = [];
  const transformer = openTransformer(
    { config, logger: pino({ level: "silent" }), metrics: new Registry() },
    {
      catalog,
      sandbox: {} as Sandbox,
      sockets: {},
      certificates: { transformer: { keys: () => keys, onChange: (use) => void uses.push(use) } },
      failedHandshakes: { inc: (labels: object) => void planes.push(labels) } as never,
    },
  );
  return { transformer, uses, planes };
}

testWith(missingPrograms("openssl"))(
  "a changed certificate is shown to the next client of the listener for rudder-server",
  async () => {
    const [first, second] = [newKeys(), newKeys()];
    const { transformer, uses } = await open(settings, first);
    const shown = async () => {
      const port = Number(new URL(transformer!.url).port);
      const client = connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
      await once(client, "secureConnect");
      const { fingerprint256 } = client.getPeerCertificate();
      client.destroy();
      return fingerprint256;
    };
    const of = ({ cert }: { cert: string }) => new X509Certificate(cert).fingerprint256;
    expect(await shown()).toBe(of(first));
    for (const use of uses) use(second);
    expect(await shown()).toBe(of(second));
    await transformer!.stop();
  },
);

testWith(missingPrograms("openssl"))(
  "a failed handshake is counted for the listener for rudder-server, which asks for its secret",
  async () => {
    const { cert, key } = newKeys();
    const { transformer, planes } = await open(
      { ...settings, "transformer.secret": "s".repeat(32) } as Config,
      { cert, key },
    );
    const plain = transformer!.url.replace("https:", "http:");
    expect(await fetch(plain).catch(() => undefined)).toBeUndefined();
    await until(() => planes.length > 0, "the failed handshake to be counted");
    expect(planes).toEqual([{ plane: "transformer" }]);
    const features = `${transformer!.url}/features`;
    const trusting = { tls: { rejectUnauthorized: false } };
    expect((await fetch(features, trusting)).status).toBe(401);
    await transformer!.stop();
  },
);

test("there is no listener for rudder-server when the settings name no port for it", async () => {
  const none = { "transformer.host": "127.0.0.1" } as Config;
  const { transformer, uses } = await open(none, undefined);
  expect(transformer).toBeUndefined();
  expect(uses).toEqual([]);
});
