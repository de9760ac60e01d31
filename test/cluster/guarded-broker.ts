import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "../free-ports.ts";
import { type Brokers, startBrokers } from "./brokers.ts";
import { shared } from "./shared-brokers.ts";
import { broker as certificate } from "./tls.ts";

/**
 * A broker that asks who is there: inside TLS, with a password, or both; it has rules of access.
 */
export interface GuardedBroker extends Brokers {
  /**
   * `host:port` of the ways in; `addresses` is the plain one, where everybody may do everything.
   */
  tls: string;
  sasl: string;
  saslTls: string;
  /** A way in that names itself by a private address. */
  elsewhere: string;
}

/** May do everything, by each mechanism. */
export const account = { user: "alice", password: "alice's secret" };
/** May sign in, by each mechanism, and is granted nothing. */
export const stranger = { user: "mallory", password: "mallory" };

const module = "org.apache.kafka.common.security";

/** The broker of this process, without topics of the file before. */
export async function sharedGuardedBroker(): Promise<GuardedBroker> {
  return { ...(await shared("guarded", startGuardedBroker)), stop: async () => {} };
}

async function startGuardedBroker(): Promise<GuardedBroker> {
  const directory = mkdtempSync(join(tmpdir(), "pixelmill-broker-tls-"));
  const store = join(directory, "store.pem");
  writeFileSync(store, `${certificate.key}\n${certificate.cert}\n`);
  const [tls = 0, sasl = 0, saslTls = 0, elsewhere = 0] = await freePorts(4);
  const users = [account, stranger];
  const plain = users.map(({ user, password }) => `user_${user}="${password}"`).join(" ");
  try {
    const lines = [
      "ssl.keystore.type=PEM",
      `ssl.keystore.location=${store}`,
      ...["sasl", "both"].flatMap((name) => [
        `listener.name.${name}.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512`,
        `listener.name.${name}.plain.sasl.jaas.config=${module}.plain.PlainLoginModule required ${plain};`,
        ...["256", "512"].map(
          (bits) =>
            `listener.name.${name}.scram-sha-${bits}.sasl.jaas.config=${module}.scram.ScramLoginModule required;`,
        ),
      ]),
      "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
      // The broker must not create topics automatically.
      "auto.create.topics.enable=true",
      `super.users=User:ANONYMOUS;User:${account.user}`,
    ];
    const brokers = await startBrokers(1, lines, {
      listeners: () => [
        { name: "TLS", protocol: "SSL", port: tls },
        { name: "SASL", protocol: "SASL_PLAINTEXT", port: sasl },
        { name: "BOTH", protocol: "SASL_SSL", port: saslTls },
        {
          ...{ name: "ELSEWHERE", protocol: "PLAINTEXT", port: elsewhere },
          advertised: "10.1.2.3:9092",
        },
      ],
      scram: users.flatMap(({ user, password }) =>
        ["SCRAM-SHA-256", "SCRAM-SHA-512"].map(
          (mechanism) => `${mechanism}=[name=${user},password="${password}"]`,
        ),
      ),
    });
    return {
      ...brokers,
      tls: `127.0.0.1:${tls}`,
      sasl: `127.0.0.1:${sasl}`,
      saslTls: `127.0.0.1:${saslTls}`,
      elsewhere: `127.0.0.1:${elsewhere}`,
      async stop() {
        await brokers.stop();
        rmSync(directory, { recursive: true, force: true });
      },
    };
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    throw error;
  }
}
