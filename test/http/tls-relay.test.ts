import { expect } from "bun:test";
import { missingPrograms, testWith } from "../counterpart.ts";

const MODULES = `${import.meta.dir}/../../src/http`;

/** Opens a relay and stops it. Prints a line when it has stopped. */
const SCRIPT = `
  import { openListeningSocket } from "${MODULES}/listening-socket.ts";
  import { relayTls } from "${MODULES}/tls/relay.ts";
  const relay = relayTls({
    socket: openListeningSocket({ host: "127.0.0.1", port: 0 }),
    serverPort: 1,
    tls: { cert: process.env.CERTIFICATE, key: process.env.KEY },
    onFailedHandshake() {},
  });
  relay.stop();
  console.log("stopped");
`;

testWith(missingPrograms("openssl"))("a stopped TLS relay does not keep its process", async () => {
  const request =
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=a -keyout -";
  const pems = Bun.spawnSync(request.split(" "), { stderr: "ignore" }).stdout.toString();
  const [key, certificate] = pems.split(/(?=-----BEGIN CERTIFICATE)/);
  const child = Bun.spawn([process.execPath, "-e", SCRIPT], {
    env: { ...process.env, CERTIFICATE: certificate, KEY: key },
    stdout: "pipe",
  });
  expect(await child.exited).toBe(0);
  expect(await new Response(child.stdout).text()).toBe("stopped\n");
});
