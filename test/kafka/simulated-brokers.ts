import { createServer, type Server, type Socket } from "node:net";
import { loadKafkaProtocol } from "../../src/kafka/library.ts";

const { Reader, Writer } = await loadKafkaProtocol();
type Answer = ReturnType<typeof Writer.create>;

/** A simulated broker's knowledge of the cluster. */
export interface BrokerView {
  /** Index of the broker that coordinates all groups. */
  coordinator: number;
  /** Number of the elections of coordinators so far. */
  epoch: number;
  /** Indexes of the brokers that it lists. */
  listed: number[];
}

/** How a broker answers the requests of a member to its coordinator. */
export type CoordinatorState = "well" | "silent" | "refuses" | "unavailable";

const NOT_COORDINATOR = 16;
const COORDINATOR_NOT_AVAILABLE = 15;

/** Api keys, and the only version of each that the brokers offer. */
const METADATA = 3;
const FIND_COORDINATOR = 10;
const JOIN_GROUP = 11;
const HEARTBEAT = 12;
const LEAVE_GROUP = 13;
const SYNC_GROUP = 14;
const API_VERSIONS = 18;
const versions = new Map([
  [METADATA, 9],
  [FIND_COORDINATOR, 4],
  [JOIN_GROUP, 5],
  [HEARTBEAT, 3],
  [LEAVE_GROUP, 3],
  [SYNC_GROUP, 3],
  [API_VERSIONS, 3],
]);

/**
 * A broker that speaks enough of Kafka's protocol for a group with one member. It serves the group
 * while it believes that it is the coordinator, whatever other brokers believe.
 */
export class SimulatedBroker {
  view: BrokerView;
  state: CoordinatorState = "well";
  /** Number of heartbeats that it has accepted. */
  heartbeats = 0;
  readonly #group: SimulatedGroup;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #metadata: Buffer = Buffer.alloc(0);

  constructor(group: SimulatedGroup, view: BrokerView) {
    this.#group = group;
    this.view = view;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  async listen(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.listen(0, "127.0.0.1", resolve);
    await promise;
  }

  /** Changes how it answers. A broker that refuses ends its connections. */
  become(state: CoordinatorState): void {
    this.state = state;
    if (state === "refuses") for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #serve(socket: Socket): void {
    if (this.state === "refuses") {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => this.#sockets.delete(socket));
    let rest: Buffer = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= 4 && rest.length >= 4 + rest.readInt32BE(0)) {
        const end = 4 + rest.readInt32BE(0);
        if (this.state !== "silent") this.#answer(socket, rest.subarray(4, end));
        rest = rest.subarray(end);
      }
    });
  }

  #answer(socket: Socket, request: Buffer): void {
    const key = request.readInt16BE(0);
    const body = request.subarray(10 + request.readInt16BE(8));
    const head = Buffer.alloc(8);
    request.copy(head, 4, 4, 8);
    const hasTags = key === METADATA || key === FIND_COORDINATOR;
    const answer = Buffer.concat([Buffer.alloc(hasTags ? 1 : 0), this.#body(key, body).buffer]);
    head.writeInt32BE(4 + answer.length);
    socket.write(Buffer.concat([head, answer]));
  }

  #body(key: number, body: Buffer): Answer {
    const answer = Writer.create();
    switch (key) {
      case API_VERSIONS:
        return answer
          .appendInt16(0)
          .appendArray([...versions], (w, [api, version]) => {
            w.appendInt16(api).appendInt16(version).appendInt16(version);
          })
          .appendInt32(0)
          .appendTaggedFields();
      case METADATA:
        return this.#describe(answer);
      case FIND_COORDINATOR: {
        const { coordinator } = this.view;
        return answer
          .appendInt32(0)
          .appendArray([coordinator], (w, index) => {
            w.appendString(this.#group.name).appendInt32(index).appendString("127.0.0.1");
            w.appendInt32(this.#group.brokers[index]!.port).appendInt16(0).appendString(null);
          })
          .appendTaggedFields();
      }
      default:
        return this.#coordinate(key, body, answer.appendInt32(0));
    }
  }

  #describe(answer: Answer): Answer {
    const { coordinator, epoch, listed } = this.view;
    const { brokers, topic } = this.#group;
    const topics = [
      { name: topic, isInternal: false },
      { name: "__consumer_offsets", isInternal: true },
    ];
    return answer
      .appendInt32(0)
      .appendArray(listed, (w, index) => {
        w.appendInt32(index).appendString("127.0.0.1").appendInt32(brokers[index]!.port);
        w.appendString(null);
      })
      .appendString("simulated")
      .appendInt32(0)
      .appendArray(topics, (w, { name, isInternal }) => {
        w.appendInt16(0)
          .appendString(name)
          .appendBoolean(isInternal)
          .appendArray([coordinator], (of, leader) => {
            of.appendInt16(0).appendInt32(0).appendInt32(leader).appendInt32(epoch);
            for (const replicas of [listed, listed, []]) {
              of.appendArray(replicas, (to, it) => to.appendInt32(it), true, false);
            }
          })
          .appendInt32(0);
      })
      .appendInt32(0)
      .appendTaggedFields();
  }

  #coordinate(key: number, body: Buffer, answer: Answer): Answer {
    const isCoordinator = this.#group.brokers[this.view.coordinator] === this;
    let error = isCoordinator ? 0 : NOT_COORDINATOR;
    if (isCoordinator && this.state === "unavailable") error = COORDINATOR_NOT_AVAILABLE;
    const reader = Reader.from(body);
    switch (key) {
      case JOIN_GROUP:
        if (error === 0) this.#metadata = joinedMetadata(reader);
        answer.appendInt16(error).appendInt32(1).appendString("cooperative-sticky", false);
        answer.appendString("member", false).appendString("member", false);
        return answer.appendArray(
          [this.#metadata],
          (w, metadata) => {
            w.appendString("member", false).appendString(null, false).appendBytes(metadata, false);
          },
          false,
          false,
        );
      case SYNC_GROUP:
        return answer.appendInt16(error).appendBytes(syncedAssignment(reader), false);
      case HEARTBEAT:
        if (error === 0) this.heartbeats += 1;
        return answer.appendInt16(error);
      default:
        return answer.appendInt16(error).appendArray([], () => {}, false, false);
    }
  }
}

/** Simulated brokers that serve one group, whose only member reads one topic with one partition. */
export interface SimulatedGroup {
  name: string;
  topic: string;
  brokers: SimulatedBroker[];
  addresses(): string[];
  close(): void;
}

/** Starts brokers that agree that the first one coordinates all groups. */
export async function startSimulatedGroup(name: string, count = 3): Promise<SimulatedGroup> {
  const group: SimulatedGroup = {
    name,
    topic: name,
    brokers: [],
    addresses: () => group.brokers.map(({ port }) => `127.0.0.1:${port}`),
    close() {
      for (const broker of group.brokers) broker.close();
    },
  };
  const listed = Array.from({ length: count }, (_, index) => index);
  const view = { coordinator: 0, epoch: 1, listed };
  group.brokers.push(...listed.map(() => new SimulatedBroker(group, view)));
  await Promise.all(group.brokers.map((broker) => broker.listen()));
  return group;
}

type Bytes = ReturnType<typeof Reader.from>;

function joinedMetadata(reader: Bytes): Buffer {
  reader.readString(false);
  reader.readInt32();
  reader.readInt32();
  reader.readString(false);
  reader.readNullableString(false);
  reader.readString(false);
  reader.readInt32();
  reader.readString(false);
  return Buffer.from(reader.readBytes(false));
}

function syncedAssignment(reader: Bytes): Buffer {
  reader.readString(false);
  reader.readInt32();
  reader.readString(false);
  reader.readNullableString(false);
  reader.readInt32();
  reader.readString(false);
  return Buffer.from(reader.readBytes(false));
}
