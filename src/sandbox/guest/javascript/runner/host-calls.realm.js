/** Defines the functions of user code that the host performs: `fetch`, `fetchV2`, `geolocation`. */
(own, limits) => {
  const { parse, stringify, ownKeys, create, provide, Fault, Promised } = own;
  const { questionsMax, questionCharsMax } = limits;

  /**
   * Host calls that were not sent to the host yet: by number of the message in which they will be
   * sent, JSON texts separated by commas.
   */
  const unsent = create(null);
  let firstUnsent = 0;
  let lastUnsent = 0;
  /** Results that the guest has received from the host, as a JSON array. */
  let arrived = "[]";
  let asked = 0;
  let awaited = 0;
  /** Functions that settle the promises of pending calls, by the number of the call. */
  const resolvers = create(null);

  function ask(question) {
    asked += 1;
    if (asked > questionsMax)
      throw new Fault(`Expected at most ${questionsMax} fetches in a batch`);
    const id = asked;
    const json = stringify({ __proto__: null, id, ...question });
    if (json.length > questionCharsMax) {
      throw new Fault(`Expected a request of at most ${questionCharsMax} characters`);
    }
    const before = unsent[lastUnsent];
    if (before === undefined) unsent[lastUnsent] = json;
    else if (before.length + json.length < questionCharsMax) {
      unsent[lastUnsent] = `${before},${json}`;
    } else {
      lastUnsent += 1;
      unsent[lastUnsent] = json;
    }
    awaited += 1;
    return new Promised((resolve, reject) => {
      resolvers[id] = { resolve, reject };
    });
  }

  function request(url, options) {
    const headers = create(null);
    const given = options?.headers ?? {};
    const names = ownKeys(given);
    for (let i = 0; i < names.length; i += 1) headers[names[i]] = `${given[names[i]]}`;
    return ask({
      __proto__: null,
      url: `${url}`,
      method: `${options?.method ?? "GET"}`,
      headers,
      body: options?.body === undefined || options.body === null ? "" : `${options.body}`,
      timeoutMs: typeof options?.timeout === "number" ? options.timeout : 0,
    });
  }

  function parsed(body) {
    try {
      return parse(body);
    } catch {
      return body;
    }
  }

  provide("fetchV2", async function fetchV2(url, options) {
    const { status, headers, body, url: answeredUrl } = await request(url, options);
    return { url: answeredUrl, status, headers, body: parsed(body) };
  });

  provide("fetch", async function fetch(url, options) {
    try {
      return parse((await request(url, options)).body);
    } catch {
      return "ERROR";
    }
  });

  provide("geolocation", async function geolocation(ip) {
    if (!ip) throw new Fault("ip address is required");
    return (await ask({ __proto__: null, ip: `${ip}` })).location;
  });

  return {
    __proto__: null,
    begin() {
      asked = 0;
    },
    awaited: () => awaited,
    outgoing() {
      const list = `[${unsent[firstUnsent] ?? ""}]`;
      delete unsent[firstUnsent];
      if (firstUnsent < lastUnsent) firstUnsent += 1;
      return list;
    },
    incoming(answers) {
      arrived = answers;
    },
    /** Settles the promises whose results have arrived. This runs user code. */
    arrive() {
      const list = parse(arrived);
      for (let i = 0; i < list.length; i += 1) {
        const { id, error } = list[i];
        const resolver = resolvers[id];
        if (resolver === undefined) continue;
        delete resolvers[id];
        awaited -= 1;
        if (error === undefined) resolver.resolve(list[i]);
        else resolver.reject(new Fault(error));
      }
    },
  };
};
