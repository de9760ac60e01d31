/**
 * Runs inside a program's context before any user code, as text: what it captures here is what
 * it uses later, whatever user code does to the built-ins. It is not a boundary (user code may
 * spoil its own results); it keeps the realm clean, so that only strings and numbers cross it.
 *
 * Its value is a function of the limits (JSON); it returns the functions that the guest calls.
 * None of them runs user code: that is done by steps, which the guest arms with one of them and
 * sets going from a script with a time limit.
 */
(limits) => {
  const { parse, stringify } = JSON;
  const { apply, ownKeys, deleteProperty } = Reflect;
  const { create, defineProperty, freeze } = Object;
  const { isArray } = Array;
  const { prototype: plain } = Object;
  const objectTag = plain.toString;
  const slice = String.prototype.slice;
  const text = String;
  const Fault = Error;
  const TypeFault = TypeError;
  const Promised = Promise;

  const FAILED = -1;
  const OPEN = -2;
  const { logsMax, logCharsMax, errorCharsMax, metadataKeys, fetchesMax, fetchCharsMax } =
    parse(limits);

  // --- The realm ---

  // A nested realm escapes (it has every global of the guest); shared memory can block the
  // thread; finalizers run outside every time limit.
  for (const name of [
    "ShadowRealm",
    "SharedArrayBuffer",
    "Atomics",
    "WebAssembly",
    "FinalizationRegistry",
  ]) {
    deleteProperty(globalThis, name);
  }
  // Its call sites are objects of the guest's own realm.
  defineProperty(Error, "prepareStackTrace", {
    value: undefined,
    writable: false,
    configurable: false,
  });

  const provide = (name, value) =>
    defineProperty(globalThis, name, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });

  const quiet = create(plain);
  const { console } = globalThis;
  for (const name of ownKeys(console)) {
    if (typeof console[name] === "function") quiet[name] = () => {};
  }
  defineProperty(globalThis, "console", { value: quiet, writable: true, configurable: true });

  // --- What the guest sets ---

  let batchwise = false;
  let transform;
  let credentials = create(null);
  let metadataText = "";
  let keepLogs = false;
  let outputCharsMax = 0;

  // --- The run under way ---

  let events = [];
  let count = 0;
  // Lists without a prototype: user code may have put setters on those of arrays and objects.
  let ids = create(null);
  let metadataOf;
  /** Per event: outputs as lines of JSON. */
  let lines = create(null);
  let counts = create(null);
  /** Per event: an error as JSON `[message, stack]`. */
  let faults = create(null);
  let logs = "";
  let logCount = 0;
  let outputChars = 0;
  let full = false;
  let current = -1;
  let pending = 0;

  // --- What user code calls ---

  provide("global", globalThis);

  provide("log", function log(...values) {
    if (!keepLogs || logCount >= logsMax) return;
    let line = "Log:";
    for (let i = 0; i < values.length; i += 1) line += ` ${shown(values[i])}`;
    logs += `${logCount === 0 ? "" : ","}${stringify(apply(slice, line, [0, logCharsMax]))}`;
    logCount += 1;
  });

  provide("getCredential", function getCredential(key) {
    if (key === undefined || key === null) throw new TypeFault("Key should be valid and defined");
    return typeof key === "string" ? credentials[key] : undefined;
  });

  /** Requests that the guest has not taken yet: JSON texts. */
  let outgoing = "";
  let outgoingChars = 0;
  let arrived = "";
  let fetches = 0;
  const answerers = create(null);
  let awaited = 0;

  function request(url, options) {
    fetches += 1;
    if (fetches > fetchesMax) throw new Fault(`Expected at most ${fetchesMax} fetches in a batch`);
    const headers = create(null);
    const given = options?.headers ?? {};
    const names = ownKeys(given);
    for (let i = 0; i < names.length; i += 1) headers[names[i]] = `${given[names[i]]}`;
    const asked = stringify({
      id: fetches,
      url: `${url}`,
      method: `${options?.method ?? "GET"}`,
      headers,
      body: options?.body === undefined || options.body === null ? "" : `${options.body}`,
      timeoutMs: typeof options?.timeout === "number" ? options.timeout : 0,
    });
    if (outgoingChars + asked.length > fetchCharsMax) {
      throw new Fault(`Expected requests of at most ${fetchCharsMax} characters`);
    }
    outgoing += outgoing === "" ? asked : `,${asked}`;
    outgoingChars += asked.length;
    const id = fetches;
    awaited += 1;
    return new Promised((resolve, reject) => {
      answerers[id] = { resolve, reject };
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
    throw new Fault("geolocation is not available right now");
  });

  function shown(value) {
    const shownText = typeof value === "object" && value !== null ? stringify(value) : value;
    return typeof shownText === "symbol" ? "Symbol()" : `${shownText}`;
  }

  /** By the messageId that the event had when it came in; the last of equal ones wins. */
  function metadata(event) {
    if (metadataOf === undefined) {
      const list = parse(metadataText);
      metadataOf = create(null);
      for (let i = 0; i < count; i += 1) metadataOf[ids[i]] = list[i];
    }
    const known = metadataOf[event?.messageId];
    const answer = {};
    for (let i = 0; i < metadataKeys.length; i += 1) {
      answer[metadataKeys[i]] = known?.[metadataKeys[i]];
    }
    return answer;
  }

  // --- Running ---

  function isObject(value) {
    return apply(objectTag, value, []) === "[object Object]";
  }

  /** An object as JSON; undefined when it is none, or not as JSON. */
  function objectText(value) {
    if (!isObject(value)) return undefined;
    const json = stringify(value);
    return typeof json === "string" && json[0] === "{" ? json : undefined;
  }

  function keep(index, json) {
    outputChars += json.length + 1;
    lines[index] = counts[index] > 0 ? `${lines[index]}\n${json}` : json;
    counts[index] = counts[index] > 0 ? counts[index] + 1 : 1;
  }

  function refuse(index, message) {
    lines[index] = undefined;
    counts[index] = FAILED;
    faults[index] = `[${stringify(message)},""]`;
  }

  /** Any value can be thrown, with getters that throw again. */
  function fail(index, thrown) {
    lines[index] = undefined;
    faults[index] = described(thrown);
    counts[index] = FAILED;
  }

  function described(thrown) {
    let message = "";
    let stack = "";
    try {
      if (typeof thrown === "object" && thrown !== null) {
        stack = typeof thrown.stack === "string" ? thrown.stack : "";
        message = typeof thrown.message === "string" ? thrown.message : shown(thrown);
      } else {
        message = text(thrown);
      }
    } catch {
      message = "A value was thrown that cannot be shown";
    }
    return `[${cut(message)},${cut(stack)}]`;
  }

  function cut(value) {
    return stringify(apply(slice, value, [0, errorCharsMax]));
  }

  function accept(index, returned) {
    const before = outputChars;
    try {
      if (returned === null || returned === undefined) counts[index] = 0;
      else if (isArray(returned)) acceptList(index, returned);
      else {
        const json = objectText(returned);
        if (json === undefined) {
          refuse(index, "returned event from transformEvent(event) is not an object");
        } else keep(index, json);
      }
    } catch (thrown) {
      fail(index, thrown);
    }
    if (counts[index] === FAILED) outputChars = before;
    else if (outputChars > outputCharsMax) overflow(index, before);
  }

  function acceptList(index, returned) {
    const items = create(null);
    const { length } = returned;
    for (let i = 0; i < length; i += 1) {
      const json = objectText(returned[i]);
      if (json === undefined) {
        refuse(index, "returned event in events array from transformEvent(event) is not an object");
        return;
      }
      items[i] = json;
    }
    counts[index] = 0;
    for (let i = 0; i < length; i += 1) keep(index, items[i]);
  }

  /** Alone it is too much; with others it is left open, to be run again without them. */
  function overflow(index, before) {
    if (before === 0) {
      refuse(index, `Output of one event is larger than ${outputCharsMax} characters`);
    } else {
      lines[index] = undefined;
      counts[index] = OPEN;
    }
    outputChars = before;
    full = counts[index] === OPEN;
  }

  async function settle(index, promise) {
    try {
      accept(index, await promise);
    } catch (thrown) {
      fail(index, thrown);
    }
    pending -= 1;
  }

  function runEvents() {
    for (let i = 0; i < count && !full; i += 1) {
      current = i;
      try {
        const returned = transform(events[i], metadata);
        if (isThenable(returned)) {
          pending += 1;
          settle(i, returned);
        } else accept(i, returned);
      } catch (thrown) {
        fail(i, thrown);
      }
    }
    current = -1;
  }

  function isThenable(value) {
    return typeof value === "object" && value !== null && typeof value.then === "function";
  }

  async function runBatch() {
    pending = 1;
    try {
      acceptBatch(await transform(events, metadata));
    } catch (thrown) {
      for (let i = 0; i < count; i += 1) fail(i, thrown);
    }
    pending = 0;
  }

  /**
   * An output belongs to the input with its messageId, else to that of the output before it; what
   * is not an object, to the input at its place. An input with such an output fails as a whole.
   */
  function acceptBatch(returned) {
    if (!isArray(returned)) {
      for (let i = 0; i < count; i += 1) {
        refuse(i, "returned events from transformBatch(event) is not an array");
      }
      return;
    }
    const places = create(null);
    for (let i = count - 1; i >= 0; i -= 1) places[ids[i]] = i;
    const items = create(null);
    const { length } = returned;
    for (let i = 0; i < length; i += 1) items[i] = objectText(returned[i]);
    for (let i = 0; i < count; i += 1) counts[i] = 0;
    let owner = 0;
    for (let i = 0; i < length; i += 1) {
      if (items[i] === undefined) {
        refuse(
          i < count ? i : owner,
          "returned event in events array from transformBatch(events) is not an object",
        );
      } else {
        owner = places[returned[i].messageId] ?? owner;
        if (counts[owner] !== FAILED) keep(owner, items[i]);
      }
    }
    if (outputChars > outputCharsMax) overflowBatch();
  }

  function overflowBatch() {
    for (let i = 0; i < count; i += 1) {
      if (count === 1) overflow(i, 0);
      else counts[i] = OPEN;
    }
    full = count > 1;
  }

  // --- What the guest calls ---

  let armed;
  let held;
  defineProperty(globalThis, "pixelmill:step", {
    get() {
      const step = armed;
      armed = undefined;
      return step?.();
    },
    enumerable: false,
    configurable: false,
  });

  const steps = {
    __proto__: null,
    run() {
      events = parse(events);
      if (events.length !== count) throw new TypeFault("Expected as many events as announced");
      for (let i = 0; i < count; i += 1) ids[i] = events[i]?.messageId;
      if (batchwise) runBatch();
      else runEvents();
    },
    /** Lets promises go on. */
    drain() {},
    arrive() {
      const list = parse(arrived);
      arrived = "";
      for (let i = 0; i < list.length; i += 1) {
        const answerer = answerers[list[i].id];
        if (answerer === undefined) continue;
        delete answerers[list[i].id];
        awaited -= 1;
        if (list[i].error === undefined) answerer.resolve(list[i]);
        else answerer.reject(new Fault(list[i].error));
      }
    },
    describe() {
      held = described(held);
    },
  };

  return freeze({
    __proto__: null,
    /** Names of the two entry points that a module namespace exports as functions. */
    install(namespace, credentialsText) {
      const byEvent = typeof namespace.transformEvent === "function";
      const byBatch = typeof namespace.transformBatch === "function";
      transform = byEvent ? namespace.transformEvent : namespace.transformBatch;
      batchwise = !byEvent;
      const named = parse(credentialsText);
      const names = ownKeys(named);
      credentials = create(null);
      for (let i = 0; i < names.length; i += 1) credentials[names[i]] = named[names[i]];
      if (byEvent && byBatch) return "transformEvent,transformBatch";
      return byEvent ? "transformEvent" : byBatch ? "transformBatch" : "";
    },
    take(eventsText, metadataOfAll, eventCount, withLogs, charsMax) {
      events = eventsText;
      metadataText = metadataOfAll;
      metadataOf = undefined;
      count = eventCount;
      keepLogs = withLogs;
      outputCharsMax = charsMax;
      ids = create(null);
      lines = create(null);
      counts = create(null);
      faults = create(null);
      for (let i = 0; i < count; i += 1) counts[i] = OPEN;
      logs = "";
      logCount = 0;
      outputChars = 0;
      full = false;
      current = -1;
      pending = 0;
      fetches = 0;
    },
    arm(step) {
      armed = steps[step];
    },
    hold(thrown) {
      held = thrown;
    },
    description: () => held,
    awaited: () => awaited,
    outgoing() {
      const list = `[${outgoing}]`;
      outgoing = "";
      outgoingChars = 0;
      return list;
    },
    incoming(answers) {
      arrived = answers;
    },
    pending: () => pending,
    current: () => current,
    full: () => full,
    logs: () => `[${logs}]`,
    /** What never settled. */
    giveUp(message) {
      for (let i = 0; i < count; i += 1) if (counts[i] === OPEN) refuse(i, message);
    },
    counts() {
      let list = "";
      for (let i = 0; i < count; i += 1) list += i === 0 ? counts[i] : `,${counts[i]}`;
      return `[${list}]`;
    },
    faults() {
      let list = "";
      for (let i = 0; i < count; i += 1) {
        if (counts[i] === FAILED) list += list === "" ? faults[i] : `,${faults[i]}`;
      }
      return `[${list}]`;
    },
    outputs() {
      let body = "";
      for (let i = 0; i < count; i += 1) {
        if (counts[i] > 0) body += body === "" ? lines[i] : `\n${lines[i]}`;
      }
      return body;
    },
  });
};
