import { expect } from "bun:test";
import { missingPrograms, testWith } from "../counterpart.ts";
import { newKeys } from "../http/new-keys.ts";

/** Connects to the broker of its environment, and prints how the first probe of it fails. */
const SCRIPT = `
  import { connectClients } from "${import.meta.dir}/../../src/kafka/client.ts";
  const clients = await connectClients({ brokers: [process.env.BROKER], tls: {} });
  while (!clients.lastProbes()[0]?.isProbed) await Bun.sleep(5);
  console.log(Bun.inspect(clients.lastProbes()[0].error));
  process.exit(0);
`;

testWith(missingPrograms("openssl"))(
  "a broker's certificate is checked even where the environment turns such checks off",
  async () => {
    let requests = 0;
    const broker = Bun.listen({
      ...{ hostname: "127.0.0.1", port: 0, tls: newKeys() },
      socket: {
        data(socket) {
          requests++;
          socket.terminate();
        },
      },
    });
    const child = Bun.spawn([process.execPath, "-e", SCRIPT], {
      env: {
        ...process.env,
        BROKER: `127.0.0.1:${broker.port}`,
        NODE_TLS_REJECT_UNAUTHORIZED: "0",
      },
      stdout: "pipe",
      stderr: "ignore",
    });
    expect(await new Response(child.stdout).text()).toContain("certificate");
    expect(requests).toBe(0);
    broker.stop(true);
  },
);
