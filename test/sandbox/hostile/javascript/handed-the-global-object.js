// biome-ignore-all lint: hostile on purpose
// expect: "got":\[\],"tried":34
// The global object itself, handed in: of what it was, nothing makes code or calls the system.
export async function transformEvent() {
  const { globals } = outer;
  const got = [];
  const attempts = {
    eval: () => globals.eval("1"),
    Function: () => globals.Function("return 1")(),
    newFunction: () => new globals.Function("return 1")(),
    FunctionCall: () => [globals.Function("return 1")],
    FunctionConstructor: () => globals.Function.constructor("return 1")(),
    FunctionPrototype: () => globals.Function.prototype.constructor("return 1")(),
    ofMethod: () => globals.parseInt.constructor("return 1")(),
    ofBun: () => globals.Bun.gc.constructor("return 1")(),
    timer: () => globals.setTimeout("globalThis.x = 1", 0),
    module: () => globals.process.getBuiltinModule("bun:ffi").dlopen,
    binding: () => globals.process.binding("fs"),
    linkedBinding: () => globals.process._linkedBinding("fs"),
    dlopen: () => globals.process.dlopen({}, "/lib/x86_64-linux-gnu/libc.so.6"),
    mainModule: () => globals.process.mainModule.require("fs"),
    require: () => globals.require("fs"),
    ffi: () => globals.Bun.FFI.dlopen,
    ffiRead: () => globals.Bun.FFI.read.u8(1),
    spawn: () => globals.Bun.spawnSync(["id"]),
    file: () => globals.Bun.file("/etc/passwd").size,
    write: () => globals.Bun.write("/tmp/x", "x"),
    mmap: () => globals.Bun.mmap("/etc/passwd"),
    build: () => globals.Bun.build({ entrypoints: ["x"] }),
    listen: () => globals.Bun.listen({ hostname: "127.0.0.1", port: 0, socket: {} }),
    serve: () => globals.Bun.serve({ fetch() {} }),
    worker: () => new globals.Worker("data:text/javascript,0"),
    fetch: () => globals.fetch("http://127.0.0.1/"),
    webSocket: () => new globals.WebSocket("ws://127.0.0.1/"),
    shadowRealm: () => new globals.ShadowRealm(),
    environment: () => Object.keys(globals.process.env).length > 0,
    arguments: () => globals.process.argv.length > 0,
    exit: () => globals.process.exit(),
    print: () => globals.console.log("x"),
    report: () => globals.reportError(new Error("x")),
    prompt: () => globals.prompt("x"),
  };
  for (const [name, act] of Object.entries(attempts)) {
    try {
      if (await act()) got.push(name);
    } catch {}
  }
  return { got, tried: Object.keys(attempts).length };
}
