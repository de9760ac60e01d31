// biome-ignore-all lint: hostile on purpose
// expect: "foreign":\[\],"enough":true
export async function transformEvent(event, metadata) {
  const functions = [Function.prototype, Object.getPrototypeOf(async () => {})];
  functions.push(Object.getPrototypeOf(function* () {}));
  functions.push(Object.getPrototypeOf(async function* () {}));
  const seen = new Set();
  const foreign = [];
  const refused = await import("fs").catch((error) => error);
  const queue = [
    globalThis,
    event,
    metadata,
    metadata(event),
    import.meta,
    import("fs").catch(() => 0),
  ];
  queue.push(
    refused,
    fetch("x").catch(() => 0),
    new Error("x"),
  );
  while (queue.length > 0) {
    const one = queue.pop();
    if ((typeof one !== "object" && typeof one !== "function") || one === null || seen.has(one)) {
      continue;
    }
    seen.add(one);
    const isFunction = typeof one === "function";
    if (isFunction && one !== Function.prototype) {
      let proto = Object.getPrototypeOf(one);
      while (typeof proto === "function" && !functions.includes(proto)) {
        proto = Object.getPrototypeOf(proto);
      }
      if (!functions.includes(proto)) foreign.push(`function ${one.name}`);
    }
    if (!isFunction && !(one instanceof Object)) {
      const proto = Object.getPrototypeOf(one);
      if (proto !== null && !seen.has(proto)) queue.push(proto);
      if (proto !== null && proto.constructor?.constructor !== Function)
        foreign.push(String(proto));
    }
    queue.push(Object.getPrototypeOf(one));
    for (const key of Reflect.ownKeys(one)) {
      if (key === "pixelmill:step") continue;
      const property = Object.getOwnPropertyDescriptor(one, key);
      queue.push(property.value, property.get, property.set);
    }
  }
  return { foreign, enough: seen.size > 800 };
}
