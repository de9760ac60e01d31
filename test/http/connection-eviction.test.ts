import { heapStats } from "bun:jsc";
import { describe, expect, test } from "bun:test";
import { OpenConnections } from "../../src/http/connection-eviction.ts";

/** Connections by name, without a network. */
class Client {
  requests = 0;
  busy = false;
  ended = false;

  constructor(
    readonly name: string,
    readonly places: OpenConnections<Client>,
  ) {}

  isBusy = () => this.busy;
  end = () => {
    this.ended = true;
  };

  ask(): void {
    if (this.requests++ === 0) this.places.onFirstRequest(this);
  }
}

function hall(max: number, perNetworkMax = 0) {
  const ended: string[] = [];
  const places: OpenConnections<Client> = new OpenConnections({
    ...{ connectionsMax: max, connectionsPerNetworkMax: perNetworkMax },
    onEvicted: (reason) => ended.push(reason),
  });
  const come = (name: string, network?: string) => {
    const client = new Client(name, places);
    return { client, isTaken: places.tryAdd(client, network) };
  };
  return { places, come, ended };
}

const names = (clients: Client[]) => clients.filter((it) => it.ended).map(({ name }) => name);

describe("the connection that is evicted", () => {
  test("is a silent one while silent ones are the majority, oldest first", () => {
    const { come } = hall(5);
    const clients = ["a", "b", "c", "d", "e"].map((name) => come(name, name).client);
    clients[0]!.ask();
    come("f", "f");
    come("g", "g");
    expect(names(clients)).toEqual(["b", "c"]);
  });

  test("is the one with the oldest last request when silent ones are no majority", () => {
    const { come } = hall(4);
    const clients = ["a", "b", "c", "d"].map((name) => come(name, name).client);
    for (const client of clients) client.ask();
    clients[0]!.ask();
    come("e", "e").client.ask();
    clients[2]!.ask();
    come("f", "f").client.ask();
    expect(names(clients)).toEqual(["b", "d"]);
  });

  test("is a proxy's only after all others, although the proxy has waited longer", () => {
    const { come } = hall(4);
    const proxies = ["p", "q"].map((name) => come(name).client);
    const strangers = ["a", "b"].map((name) => come(name, name).client);
    for (const client of [...proxies, ...strangers]) client.ask();
    come("c", "c").client.ask();
    come("r").client.ask();
    expect(names([...proxies, ...strangers])).toEqual(["a", "b"]);
    come("s").client.ask();
    come("t").client.ask();
    expect(names(proxies)).toEqual(["p"]);
  });

  test("is never one that is owed a response", () => {
    const { places, come } = hall(2);
    const clients = ["a", "b"].map((name) => come(name, name).client);
    for (const client of clients) {
      client.ask();
      client.busy = true;
    }
    expect(places.hasRoom()).toBe(false);
    clients[1]!.busy = false;
    expect(places.hasRoom()).toBe(true);
    come("c", "c");
    expect(names(clients)).toEqual(["b"]);
  });
});

describe("the bound of a network", () => {
  test("evicts a connection of the same network", () => {
    const { come, ended } = hall(100, 2);
    const clients = ["a", "b"].map((name) => come(name, "n").client);
    const other = come("c", "m").client;
    expect(come("d", "n").isTaken).toBe(true);
    expect(names([...clients, other])).toEqual(["a"]);
    expect(ended).toEqual(["network"]);
  });

  test("evicts a connection although all of them have sent requests since the last choice", () => {
    const { places, come } = hall(2, 2);
    const clients = ["a", "b", "c"].map((name) => come(name, "n").client);
    const rest = clients.slice(1);
    for (const client of [...rest, ...rest]) client.ask();
    rest[0]!.busy = true;
    expect(places.hasRoom()).toBe(true);
    for (const client of rest) client.ask();
    expect(come("d", "n").isTaken).toBe(true);
    expect(names(clients)).toEqual(["a", "c"]);
  });

  test("refuses a connection while responses are owed on all of them", () => {
    const { places, come, ended } = hall(100, 1);
    const { client } = come("a", "n");
    client.ask();
    client.busy = true;
    expect(come("b", "n").isTaken).toBe(false);
    expect([places.size, ended]).toEqual([1, ["network"]]);
    places.remove(client);
    expect(come("c", "n").isTaken).toBe(true);
  });

  test("does not apply to proxies", () => {
    const { places, come } = hall(100, 1);
    for (let n = 0; n < 50; n++) expect(come(`${n}`).isTaken).toBe(true);
    expect(places.size).toBe(50);
  });
});

test("a bound of a network that changes counts for the connections after it", () => {
  const { places, come, ended } = hall(100, 2);
  for (const name of ["a", "b"]) come(name, "n");
  places.setPerNetworkMax(3);
  come("c", "n");
  expect([places.size, ended]).toEqual([3, []]);
  places.setPerNetworkMax(1);
  expect(places.size).toBe(3);
  come("d", "n");
  expect([places.size, ended]).toEqual([3, ["network"]]);
  places.setPerNetworkMax(0);
  come("e", "n");
  expect([places.size, ended]).toEqual([4, ["network"]]);
});

test("a connection that is gone already can be removed again, and ask", () => {
  const { places, come } = hall(100, 2);
  const { client } = come("a", "n");
  come("b", "n");
  places.remove(client);
  places.remove(client);
  places.onFirstRequest(client);
  expect(places.size).toBe(1);
});

test("connections beyond the bound are at most 16, and are closed once they are owed nothing", () => {
  const { places, come, ended } = hall(2);
  const clients = Array.from({ length: 18 }, (_, n) => {
    const { client, isTaken } = come(`${n}`, `${n}`);
    expect(isTaken).toBe(true);
    client.ask();
    client.busy = true;
    return client;
  });
  expect(places.hasRoom()).toBe(false);
  for (const client of clients.slice(0, 2)) client.busy = false;
  expect(places.hasRoom()).toBe(true);
  expect(names(clients)).toEqual(["0"]);
  expect([places.size, ended]).toEqual([17, ["all"]]);
});

test("a network without connections is forgotten", () => {
  const { places, come } = hall(100, 2);
  const visit = (from: number) => {
    for (let n = from; n < from + 50_000; n++) places.remove(come(`${n}`, `${n}`).client);
    Bun.gc(true);
    return heapStats().objectCount;
  };
  const before = visit(0);
  // Each network would hold several objects.
  expect(visit(50_000) - before).toBeLessThan(10_000);
  expect(places.size).toBe(0);
});

test("10,000 busy connections cost a new connection no more than 10 do", () => {
  const looks = (held: number) => {
    const { places, come } = hall(held);
    let count = 0;
    const watch = (client: Client) => {
      client.isBusy = () => {
        count++;
        return false;
      };
    };
    for (let n = 0; n < held; n++) watch(come(`${n}`, `${n}`).client);
    for (let n = 0; n < 1_000; n++) watch(come(`${held + n}`, "x").client);
    expect(places.size).toBe(held);
    return count;
  };
  expect(looks(10_000)).toBeLessThan(2 * looks(10));
});
