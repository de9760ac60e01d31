/**
 * Runs the events of a program. The guest calls the functions of the returned object. Only the
 * steps run user code: the guest selects a step with `arm`, and then starts it from a script with a
 * time limit.
 */
(own, calls, network, outcomes, limits) => {
  const { parse, create, defineProperty, freeze, described, idOf, now, Fault } = own;
  const { accept, acceptBatch, fail, failBatch, full, failure } = outcomes;
  const { metadata } = calls;

  let transform;
  let batchwise = false;
  /** Events of the run: first as JSON text, then parsed. */
  let events = "[]";
  let count = 0;
  let ids = create(null);
  /** Index of the event whose function is being called; −1 at other times. */
  let current = -1;
  /** Clock time in ms at which that function was called. */
  let calledAt = 0;
  /** Number of promises of user functions that have not settled. */
  let pending = 0;
  /**
   * Number of the current run. A promise of an earlier run may settle during it, and is ignored.
   */
  let runNumber = 0;

  function runEvents() {
    for (let i = 0; i < count && !full(); i += 1) {
      current = i;
      calledAt = now();
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

  async function settle(index, promise) {
    const mine = runNumber;
    try {
      const returned = await promise;
      if (mine === runNumber) accept(index, returned);
    } catch (thrown) {
      if (mine === runNumber) fail(index, thrown);
    }
    if (mine === runNumber) pending -= 1;
  }

  async function runBatch() {
    const mine = runNumber;
    pending = 1;
    try {
      const returned = await transform(events, metadata);
      if (mine === runNumber) acceptBatch(returned, ids);
    } catch (thrown) {
      if (mine === runNumber) failBatch(thrown);
    }
    if (mine === runNumber) pending = 0;
  }

  let held;
  const steps = {
    __proto__: null,
    run() {
      events = parse(events);
      if (events.length !== count) throw new Fault("Expected as many events as announced");
      for (let i = 0; i < count; i += 1) ids[i] = idOf(events[i]);
      calls.know(ids, events, count);
      if (batchwise) runBatch();
      else runEvents();
    },
    /** Does nothing by itself. After every step, promises that are ready continue. */
    drain() {},
    arrive: network.arrive,
    describe() {
      held = described(held, limits.errorCharsMax);
    },
  };

  let armed;
  defineProperty(globalThis, "pixelmill:step", {
    get() {
      const step = armed;
      armed = undefined;
      return step?.();
    },
    enumerable: false,
    configurable: false,
  });

  return freeze({
    __proto__: null,
    setCredentials: calls.setCredentials,
    /**
     * Takes the entry point from a module namespace. Returns the names of the entry points that it
     * exports as functions, separated by a comma.
     */
    install(namespace) {
      const byEvent = typeof namespace.transformEvent === "function";
      const byBatch = typeof namespace.transformBatch === "function";
      transform = byEvent ? namespace.transformEvent : namespace.transformBatch;
      batchwise = !byEvent;
      if (byEvent && byBatch) return "transformEvent,transformBatch";
      return byEvent ? "transformEvent" : byBatch ? "transformBatch" : "";
    },
    take(eventsText, metadataText, eventCount, logsMax, logsCharsMax) {
      events = eventsText;
      count = eventCount;
      ids = create(null);
      current = -1;
      pending = 0;
      runNumber += 1;
      calls.begin(metadataText, logsMax, logsCharsMax, () => current);
      network.begin();
      outcomes.begin(count);
    },
    arm(step) {
      armed = steps[step];
    },
    hold(thrown) {
      held = thrown;
    },
    description: () => held,
    pending: () => pending,
    current: () => current,
    calledAt: () => calledAt,
    awaited: network.awaited,
    outgoing: network.outgoing,
    incoming: network.incoming,
    logs: calls.logs,
    full,
    failure,
    giveUp: outcomes.giveUp,
    counts: outcomes.counts,
    faults: outcomes.faults,
    outputsOf: outcomes.outputsOf,
  });
};
