import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Subprocess } from "bun";
import { freePorts } from "../free-ports.ts";
import { keep, keptPath } from "../kept.ts";
import { boundCommand } from "../shared.ts";
import { fillDisk, makeSpace, mountDisk, unmountDisk } from "../small-disk.ts";
import { brokerJars, classArchive, KAFKA } from "./jars.ts";

/**
 * Real brokers: Apache Kafka in KRaft mode, each a process that is broker and controller at once.
 */
export interface Brokers {
  /** `host:port` of each. */
  addresses: string[];
  /** `host:port` of the controller in each, which answers questions about the controllers alone. */
  controllers: string[];
  pids(): number[];
  /** Ends one at once, as a power cut does, but for its disk. */
  kill(index: number): Promise<void>;
  /** Starts one again that was killed; resolves when it takes connections. */
  restart(index: number): Promise<void>;
  /** Makes what one has on disk disappear, while it is down. */
  wipe(index: number): void;
  /** Whether each has a disk of its own. */
  haveDisks: boolean;
  /** Takes all space that is left on the disk of one. */
  fill(index: number): void;
  /** Gives the space back that `fill` took. */
  makeSpace(index: number): void;
  /** Resolves when one has come to its end by itself. */
  ended(index: number): Promise<void>;
  isRunning(index: number): boolean;
  /** Ends all, and removes what they wrote; shared brokers run on. */
  stop(): Promise<void>;
}

const jars = await brokerJars();
/** Why no brokers can be started here, as a sentence; undefined when they can. */
export const brokersMissing = "missing" in jars ? jars.missing : undefined;

const START_MS_MAX = 240_000;
/** Time that a broker gets to end by itself and to write its classes. */
const ARCHIVE_MS_MAX = 60_000;
/** Exit code of Java after SIGTERM. */
const ENDED_BY_REQUEST = 143;
/** Small, quick to start, and told to say only what is wrong. */
const JAVA = [
  ...["java", "-Xmx512m", "-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"],
  "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
];

/**
 * Options of Java that use the archive of classes, once a broker of an earlier run has written it.
 */
function classOptions(): string[] {
  const archive = classArchive();
  return existsSync(archive) ? [`-XX:SharedArchiveFile=${archive}`] : [];
}

interface Place {
  directory: string;
  data: string;
  broker: number;
  controller: number;
  /** Where the other brokers connect to. */
  internal: number;
  others: Listener[];
  /** Address at which this broker finds each broker, by index. */
  hosts: string[];
  /** Id of the Kafka cluster. */
  clusterId: string;
}

/** Where a broker listens beside its plain address. */
export interface Listener {
  name: string;
  protocol: "PLAINTEXT" | "SSL" | "SASL_PLAINTEXT" | "SASL_SSL";
  port: number;
  /** `host:port` that the broker names instead. */
  advertised?: string;
}

export interface BrokersOptions {
  /** Where a broker listens, by index, beside its plain address. */
  listeners?: (index: number) => Listener[];
  /** Users of SCRAM: `SCRAM-SHA-256=[name=…,password=…]`. */
  scram?: string[];
  /** Size of each broker's own disk, which tests can fill. */
  diskBytes?: number;
  /** Text of 16 characters that the id of the Kafka cluster encodes. */
  clusterText?: string;
  /**
   * Opens the way of a broker to ports of another, both by index; resolves with the address at
   * which it finds these ports. By default it is 127.0.0.1, where they are.
   */
  openRoute?: (from: number, to: number, ports: number[]) => Promise<string>;
}

/**
 * Starts `count` brokers on free ports of 127.0.0.1; resolves when all of them serve. `settings`
 * are lines of `server.properties`, which win over those of the fixture.
 */
export async function startBrokers(
  count: 1 | 3,
  settings: string[] = [],
  options: BrokersOptions = {},
): Promise<Brokers> {
  const { listeners = () => [], scram = [], diskBytes, openRoute } = options;
  const { clusterText = "pixelmill-tests!" } = options;
  if ("missing" in jars) throw new Error(jars.missing);
  const { classPath } = jars;
  const root = mkdtempSync(join(tmpdir(), "pixelmill-brokers-"));
  const ports = await freePorts(3 * count);
  const places = Array.from({ length: count }, (_, i): Place => {
    const directory = join(root, String(i + 1));
    const [broker, controller, internal] = ports.slice(3 * i) as [number, number, number];
    return {
      directory,
      data: join(directory, "disk", "data"),
      broker,
      controller,
      internal,
      others: listeners(i),
      hosts: [],
      clusterId: Buffer.from(clusterText).toString("base64url"),
    };
  });
  const running: (Subprocess | undefined)[] = [];
  // A broker that is alone ends by itself at once, since it leads all it has.
  const archive =
    count === 1 && !existsSync(classArchive()) ? `${classArchive()}-${root.slice(-6)}` : undefined;
  const classes = archive === undefined ? classOptions() : [`-XX:ArchiveClassesAtExit=${archive}`];
  const start = async (index: number) => {
    running[index] = await startBroker(classPath, places[index]!, classes);
  };
  const kill = async (index: number) => {
    running[index]?.kill("SIGKILL");
    await running[index]?.exited;
    running[index] = undefined;
  };
  const stop = async () => {
    if (archive !== undefined) await keepClasses(archive, running[0]);
    await Promise.all(places.map((_, index) => kill(index)));
    if (diskBytes !== undefined) for (const place of places) unmountDisk(diskOf(place));
    rmSync(root, { recursive: true, force: true });
  };
  try {
    for (const [index, place] of places.entries()) {
      for (const [to, { internal, controller }] of places.entries()) {
        const address =
          to === index ? undefined : await openRoute?.(index, to, [internal, controller]);
        place.hosts.push(address ?? "127.0.0.1");
      }
      mkdirSync(diskOf(place), { recursive: true });
      if (diskBytes !== undefined) mountDisk(diskOf(place), diskBytes);
      write(place, index, places, settings);
    }
    await Promise.all(places.map((place, index) => prepareDisk(classPath, place, index, scram)));
    await Promise.all(places.map((_, index) => start(index)));
    await Promise.all(places.map((place, index) => serving(place, () => running[index])));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    addresses: places.map(({ broker }) => `127.0.0.1:${broker}`),
    controllers: places.map(({ controller }) => `127.0.0.1:${controller}`),
    isRunning: (index) => running[index]?.exitCode === null,
    pids: () => running.flatMap((it) => (it === undefined ? [] : [it.pid])),
    kill,
    async restart(index) {
      const place = places[index]!;
      // A disk without anything is one that was put in for another.
      if (!existsSync(place.data)) await format(classPath, place, scram);
      await start(index);
      await serving(places[index]!, () => running[index]);
    },
    wipe(index) {
      rmSync(places[index]!.data, { recursive: true, force: true });
    },
    haveDisks: diskBytes !== undefined,
    fill: (index) => fillDisk(diskOf(places[index]!)),
    makeSpace: (index) => makeSpace(diskOf(places[index]!)),
    async ended(index) {
      await running[index]?.exited;
    },
    stop,
  };
}

const diskOf = ({ data }: Place) => dirname(data);
const hostsFileOf = ({ directory }: Place) => join(directory, "hosts");
/** Name of a broker among the brokers. */
const nameOf = (index: number) => `broker-${index + 1}`;

function write(place: Place, index: number, places: Place[], settings: string[]): void {
  const replicas = places.length;
  const majority = Math.floor(replicas / 2) + 1;
  const voters = places.map(({ controller }, i) => `${i + 1}@${nameOf(i)}:${controller}`);
  const others = place.others.map(({ name, port }) => `${name}://127.0.0.1:${port}`);
  const named = place.others.map(
    ({ name, port, advertised = `127.0.0.1:${port}` }) => `${name}://${advertised}`,
  );
  const plain = `PLAINTEXT://127.0.0.1:${place.broker}`;
  const internal = `INTERNAL://127.0.0.1:${place.internal}`;
  const advertised = `INTERNAL://${nameOf(index)}:${place.internal}`;
  // Controllers tell each other this address, and use it beside that of `controller.quorum.voters`.
  const controller = `CONTROLLER://${nameOf(index)}:${place.controller}`;
  const protocols = place.others.map(({ name, protocol }) => `,${name}:${protocol}`).join("");
  const lines = [
    "process.roles=broker,controller",
    `node.id=${index + 1}`,
    `controller.quorum.voters=${voters.join(",")}`,
    `listeners=${[plain, internal, `CONTROLLER://127.0.0.1:${place.controller}`, ...others].join(",")}`,
    `advertised.listeners=${[plain, advertised, controller, ...named].join(",")}`,
    "controller.listener.names=CONTROLLER",
    "inter.broker.listener.name=INTERNAL",
    `listener.security.protocol.map=PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT${protocols}`,
    `log.dirs=${place.data}`,
    `offsets.topic.replication.factor=${replicas}`,
    "offsets.topic.num.partitions=1",
    `transaction.state.log.replication.factor=${replicas}`,
    `transaction.state.log.min.isr=${majority}`,
    "transaction.state.log.num.partitions=1",
    `min.insync.replicas=${majority}`,
    `default.replication.factor=${replicas}`,
    "auto.create.topics.enable=false",
    "group.initial.rebalance.delay.ms=0",
    "group.min.session.timeout.ms=1000",
    // By default a controller that hears nothing for 2 s has itself elected: on a machine that is
    // busy with other things, three of them never agree.
    "controller.quorum.fetch.timeout.ms=10000",
    "controller.quorum.election.timeout.ms=5000",
    "controller.quorum.request.timeout.ms=10000",
    "broker.session.timeout.ms=6000",
    "broker.heartbeat.interval.ms=500",
    // A broker ends when it has not registered by then, which three at once do not on a busy
    // machine.
    "initial.broker.registration.timeout.ms=600000",
    // Two cores and little memory are enough for a broker of a test.
    "num.network.threads=1",
    "num.io.threads=2",
    "background.threads=1",
    // Tests lower the time after which producers are forgotten, which the brokers read while they
    // run.
    "producer.id.expiration.check.interval.ms=100",
    // A controller that is alone has no voters to tell that it lives: a third of an idle broker's
    // CPU time.
    ...(replicas === 1 ? ["metadata.max.idle.interval.ms=0"] : []),
    "log.cleaner.dedupe.buffer.size=2097152",
    ...settings,
  ];
  writeFileSync(join(place.directory, "server.properties"), `${lines.join("\n")}\n`);
  const hosts = place.hosts.map((address, i) => `${address} ${nameOf(i)}`);
  hosts.push(`127.0.0.1 localhost ${hostname()}`);
  writeFileSync(hostsFileOf(place), `${hosts.join("\n")}\n`);
}

/** Takes a copy of a formatted disk where an earlier run has kept one: formatting starts Java. */
async function prepareDisk(classPath: string, place: Place, index: number, scram: string[]) {
  const kept = keptPath(`${KAFKA}-disk`, index, place.clusterId, scram);
  if (existsSync(kept)) return cpSync(kept, place.data, { recursive: true });
  await format(classPath, place, scram);
  await keep(kept, (part) => cpSync(place.data, part, { recursive: true }));
}

async function format(classPath: string, place: Place, scram: string[]): Promise<void> {
  const { directory, clusterId } = place;
  const file = join(directory, "server.properties");
  const users = scram.flatMap((user) => ["--add-scram", user]);
  const tool = ["kafka.tools.StorageTool", "format", "-t", clusterId, "-c", file, ...users];
  const child = Bun.spawn(
    [...boundCommand, ...JAVA, ...classOptions(), "-cp", classPath, ...tool],
    {
      stdout: "pipe",
      stderr: "inherit",
      timeout: START_MS_MAX,
    },
  );
  const said = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`A broker's disk was not made: ${said}`);
}

/** Ends a broker that writes its classes to `archive` then, and keeps the file for later runs. */
async function keepClasses(archive: string, broker: Subprocess | undefined): Promise<void> {
  broker?.kill("SIGTERM");
  const code = await Promise.race([broker?.exited, Bun.sleep(ARCHIVE_MS_MAX)]);
  // A broker that was killed has written no archive, or a part of one.
  if (code === ENDED_BY_REQUEST && existsSync(archive)) renameSync(archive, classArchive());
  else rmSync(archive, { force: true });
}

async function startBroker(
  classPath: string,
  place: Place,
  classes: string[],
): Promise<Subprocess> {
  const { directory } = place;
  const output = openSync(join(directory, "output"), "a");
  const file = join(directory, "server.properties");
  const hosts = `-Djdk.net.hosts.file=${hostsFileOf(place)}`;
  try {
    return Bun.spawn(
      [...boundCommand, ...JAVA, ...classes, hosts, "-cp", classPath, "kafka.Kafka", file],
      {
        stdout: output,
        stderr: output,
      },
    );
  } finally {
    closeSync(output);
  }
}

/** A broker listens once it has joined the cluster, at one port after the other. */
async function serving(place: Place, process: () => Subprocess | undefined): Promise<void> {
  const until = performance.now() + START_MS_MAX;
  const ports = [place.broker, ...place.others.map(({ port }) => port)];
  while (!(await Promise.all(ports.map(listens))).every((it) => it)) {
    const gone = process()?.exitCode !== null;
    if (gone || performance.now() > until) {
      const said = readFileSync(join(place.directory, "output"), "utf8").slice(-4_000);
      throw new Error(`A broker ${gone ? "ended" : "is too slow"}: ${said}`);
    }
    await Bun.sleep(100);
  }
}

async function listens(port: number): Promise<boolean> {
  try {
    const socket = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } });
    socket.end();
    return true;
  } catch {
    return false;
  }
}
