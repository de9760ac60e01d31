/**
 * The runner is the code that calls user functions inside a program's context. It is not a security
 * boundary, because user code may corrupt its own results. It keeps the context clean: only strings
 * and numbers pass between the context and the guest. Each file of the runner is imported as text.
 * It contains one function, whose parameters are what the file depends on. The files are not
 * modules, because user code could reach a module.
 *
 * This file comes first. It removes the built-ins that lead out of the context, and captures those
 * that the other files use, before user code can change them.
 */
() => {
  const { parse, stringify } = JSON;
  const { apply, ownKeys, deleteProperty } = Reflect;
  const { create, defineProperty, freeze } = Object;
  const { isArray } = Array;
  const { now } = Date;
  const { slice } = String.prototype;
  const { toString: tag } = Object.prototype;
  const text = String;
  const noArguments = freeze([]);

  // A nested realm escapes (it has every global of the guest); shared memory can block the
  // thread; finalizers run outside every time limit.
  deleteProperty(globalThis, "ShadowRealm");
  deleteProperty(globalThis, "SharedArrayBuffer");
  deleteProperty(globalThis, "Atomics");
  deleteProperty(globalThis, "WebAssembly");
  deleteProperty(globalThis, "FinalizationRegistry");
  // Its call sites are objects of the guest's own realm.
  defineProperty(Error, "prepareStackTrace", {
    value: undefined,
    writable: false,
    configurable: false,
  });

  function provide(name, value) {
    defineProperty(globalThis, name, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
  provide("global", globalThis);

  const quiet = {};
  const { console } = globalThis;
  for (const name of ownKeys(console)) {
    if (typeof console[name] === "function") quiet[name] = () => {};
  }
  defineProperty(globalThis, "console", { value: quiet, writable: true, configurable: true });

  function cut(value, chars) {
    return apply(slice, value, [0, chars]);
  }

  /** Returns any value as text. May run user code, which may throw. */
  function shown(value) {
    const shownText = typeof value === "object" && value !== null ? stringify(value) : value;
    return typeof shownText === "symbol" ? "Symbol()" : `${shownText}`;
  }

  /**
   * Returns a thrown value as JSON `[message, stack]`. It may be any value, and its getters may
   * throw too, or return another value each time.
   */
  function described(thrown, charsMax) {
    let message = "";
    let stack = "";
    try {
      if (typeof thrown === "object" && thrown !== null) {
        const { stack: givenStack } = thrown;
        if (typeof givenStack === "string") stack = givenStack;
        const { message: givenMessage } = thrown;
        message = typeof givenMessage === "string" ? givenMessage : shown(thrown);
      } else {
        message = text(thrown);
      }
    } catch {
      message = "A value was thrown that cannot be shown";
    }
    return `[${stringify(cut(message, charsMax))},${stringify(cut(stack, charsMax))}]`;
  }

  /**
   * Returns an object as JSON; undefined for any other value, or when its JSON is not an object.
   */
  function objectText(value) {
    if (apply(tag, value, noArguments) !== "[object Object]") return undefined;
    const json = stringify(value);
    return typeof json === "string" && json[0] === "{" ? json : undefined;
  }

  /**
   * Returns the messageId of an event, to be used as a key; undefined when the event has none. An
   * object as messageId counts as none, because its conversion to a key may throw.
   */
  function idOf(event) {
    const id = event?.messageId;
    return typeof id === "string" || typeof id === "number" ? `${id}` : undefined;
  }

  return {
    __proto__: null,
    parse,
    stringify,
    ownKeys,
    create,
    defineProperty,
    freeze,
    isArray,
    now,
    Fault: Error,
    TypeFault: TypeError,
    Promised: Promise,
    provide,
    cut,
    shown,
    described,
    objectText,
    idOf,
  };
};
