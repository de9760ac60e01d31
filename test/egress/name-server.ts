import { createSocket, type Socket } from "node:dgram";

/**
 * Records of a name: addresses and an alias, an error code of the server, or no response at all.
 */
export interface Zone {
  four?: string[];
  six?: string[];
  /** The addresses are those of this name. */
  alias?: string;
  /** Response code: 2 for a failure, 3 for a name that does not exist, 5 for a refusal. */
  code?: number;
  /** No query for it is answered; of this type alone when it says so. */
  silent?: true | "four" | "six";
  /** Nor are as many of the first queries for each type. */
  lost?: number;
  ttl?: number;
}

const types = { 1: "four", 28: "six" } as const;

/** A name server on 127.0.0.1 that knows these names; others do not exist. */
export class NameServer {
  asked: string[] = [];
  readonly #zones: Record<string, Zone>;
  readonly #socket: Socket;

  constructor(zones: Record<string, Zone>) {
    this.#zones = zones;
    this.#socket = createSocket("udp4", (query, from) => {
      const answer = this.#answer(query);
      if (answer !== undefined) this.#socket.send(answer, from.port, from.address);
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#socket.bind(0, "127.0.0.1", resolve));
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  close(): void {
    this.#socket.close();
  }

  #answer(query: Buffer): Buffer | undefined {
    const labels: string[] = [];
    let at = 12;
    for (; query[at] !== 0; at += query[at]! + 1) {
      labels.push(query.toString("latin1", at + 1, at + 1 + query[at]!));
    }
    const name = labels.join(".");
    const type = types[query.readUInt16BE(at + 1) as 1 | 28];
    const end = at + 5;
    this.asked.push(`${name} ${type}`);
    const { alias, code = 0, silent, lost, ttl = 60, ...own } = this.#zones[name] ?? { code: 3 };
    if (silent === true || silent === type) return undefined;
    const times = this.asked.filter((asked) => asked === this.asked.at(-1)).length;
    if (times <= (lost ?? 0)) return undefined;
    const addresses = own[type] ?? [];
    const records = addresses.map((address) => record(type, alias ?? name, address, ttl));
    if (alias !== undefined && records.length > 0) {
      records.unshift(Buffer.concat([named(name), fields(5, ttl, named(alias))]));
    }
    const head = Buffer.from(query.subarray(0, end));
    head.writeUInt16BE(0x8180 | code, 2);
    head.writeUInt16BE(records.length, 6);
    head.writeUInt32BE(0, 8);
    return Buffer.concat([head, ...records]);
  }
}

function record(type: "four" | "six", name: string, address: string, ttl: number): Buffer {
  if (type === "four") {
    return Buffer.concat([
      named(name),
      fields(1, ttl, Buffer.from(address.split(".").map(Number))),
    ]);
  }
  // Written out in full: eight groups.
  const groups = address.split(":").map((group) => Number.parseInt(group, 16));
  const bytes = Buffer.from(groups.flatMap((group) => [group >> 8, group & 255]));
  return Buffer.concat([named(name), fields(28, ttl, bytes)]);
}

function named(name: string): Buffer {
  const labels = name.split(".").map((label) => Buffer.from(`\0${label}`));
  for (const label of labels) label[0] = label.length - 1;
  return Buffer.concat([...labels, Buffer.from([0])]);
}

function fields(type: number, ttl: number, data: Buffer): Buffer {
  const head = Buffer.alloc(10);
  head.writeUInt16BE(type, 0);
  head.writeUInt16BE(1, 2);
  head.writeUInt32BE(ttl, 4);
  head.writeUInt16BE(data.length, 8);
  return Buffer.concat([head, data]);
}
