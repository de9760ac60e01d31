import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { runs } from "../../tier.ts";
import { batch, childProcesses, eventually, library, PATIENCE_MS, shown } from "../support.ts";
import { hastyPython, python, pythonSandbox } from "./support.ts";

setDefaultTimeout(PATIENCE_MS);

const sandbox = pythonSandbox();
afterAll(() => sandbox.close());

const ROUNDS = runs(200, 1_000);

/** Counts in globals, in modules, in classes and in built-ins, and tells what it finds there. */
const counting = python(
  `
    import json, random, re, collections, decimal, string, datetime, shared

    random.seed(1)
    decimal.getcontext().prec = 6
    count = 0

    def transformEvent(event, metadata):
        global count
        count += 1
        for module in (json, random, re, collections, decimal, string, datetime, shared):
            module.mark = getattr(module, "mark", 0) + 1
        collections.Counter.mark = getattr(collections.Counter, "mark", 0) + 1
        __builtins__["mark"] = __builtins__.get("mark", 0) + 1
        shared.state.append(count)
        return {
            "count": count,
            "marks": [module.mark for module in (json, random, re, collections, decimal, string,
                                                  datetime, shared, collections.Counter)],
            "built-in": mark,
            "state": len(shared.state),
            "random": random.random(),
            "third": str(decimal.Decimal(1) / 3),
        }
  `,
  { libraries: [library("shared", "state = []")] },
);

test("two programs that alternate share nothing", async () => {
  const other = python(
    counting.code.replaceAll("random.seed(1)", "random.seed(2)").replaceAll("prec = 6", "prec = 9"),
    { libraries: counting.libraries },
  );
  const random = new Map<string, number[]>([
    [counting.id, []],
    [other.id, []],
  ]);
  for (let n = 1; n <= ROUNDS; n += 1) {
    for (const program of [counting, other]) {
      const [[output]] = shown(await sandbox.run(program, batch({}))) as [[{ random: number }]];
      random.get(program.id)!.push(output.random);
      expect(output).toMatchObject({
        count: n,
        marks: new Array(9).fill(n),
        "built-in": n,
        state: n,
        third: program === counting ? "0.333333" : "0.333333333",
      });
    }
  }
  // Each has its own sequence, as its own seed begins it.
  const [first, second] = [...random.values()];
  expect(first![0]).toBe(0.13436424411240122);
  expect(second![0]).toBe(0.9560342718892494);
  expect(new Set([...first!, ...second!]).size).toBe(2 * ROUNDS);
  // All of that in one guest. Guests of the tests before this one may still be ending.
  await eventually(() => childProcesses().length <= 1);
});

test("a program that breaks built-in objects breaks them only for itself", async () => {
  const breaking = python(`
    import json, re, random, datetime, collections
    def refuse(*arguments, **named):
        raise RuntimeError("broken on purpose")
    json.dumps = json.loads = json.JSONEncoder.encode = json.encoder.c_make_encoder = refuse
    json.decoder.scanstring = json.JSONDecoder.decode = re.compile = re.match = refuse
    random.random = random.Random.seed = refuse
    datetime.datetime = None
    collections.OrderedDict = None
    for name in ("len", "isinstance", "dict", "list", "str", "type", "Exception", "__import__"):
        __builtins__[name] = refuse
    def transformEvent(event, metadata):
        log("still here")
        return event
  `);
  const fine = python(`
    import json, re, random, datetime, collections
    def transformEvent(event, metadata):
        value = json.loads(json.dumps({"a": 1, "b": bool(re.match("a", "a"))}))
        return {**value, "n": len(collections.OrderedDict(x=random.random())),
                "year": datetime.datetime(2026, 1, 1).year, "kind": type(event).__name__}
  `);
  const right = [[{ a: 1, b: true, n: 1, year: 2026, kind: "dict" }]];
  for (let round = 0; round < 3; round += 1) {
    expect(shown(await sandbox.run(breaking, batch({ n: 1 })))).toEqual([[{ n: 1 }]]);
    expect(shown(await sandbox.run(fine, batch({})))).toEqual(right);
  }
});

test("a program's changes to the interpreter do not observe or stop another program", async () => {
  const prying = python(`
    import typing
    sys = typing.sys
    seen = []

    def look(frame, *_):
        seen.append(str(frame.f_locals))

    def transformEvent(event, metadata):
        if "tell" in event:
            return {"pried": bool(seen), "seen": [text for text in seen if "another" in text]}
        sys.setprofile(look)
        sys.settrace(look)
        sys.monitoring.use_tool_id(3, "prying")
        sys.monitoring.register_callback(3, sys.monitoring.events.PY_START,
                                         lambda code, _: look(sys._getframe(1)))
        sys.monitoring.set_events(3, sys.monitoring.events.PY_START)
        sys.set_int_max_str_digits(640)
        sys.setrecursionlimit(60)
        return {}
  `);
  const honest = python(`
    def deep(n):
        return 0 if n == 0 else 1 + deep(n - 1)

    def transformEvent(event, metadata):
        return {"digits": len(str(10 ** 700)), "depth": deep(100)}
  `);
  const run = async (one: typeof honest, event: object) =>
    shown(await sandbox.run(one, batch(event)));
  let told: unknown;
  // On a busy machine a guest is replaced between two batches, and its state is gone.
  for (let round = 0; round < 10 && !JSON.stringify(told)?.includes("true"); round += 1) {
    await run(prying, {});
    expect(await run(honest, { secret: "of another" })).toEqual([[{ digits: 701, depth: 100 }]]);
    told = await run(prying, { tell: true });
  }
  expect(told).toEqual([[{ pried: true, seen: [] }]]);
});

test("a program keeps its state between batches, and starts afresh after a timeout", async () => {
  const program = python(`
    seen = []
    def transformEvent(event, metadata):
        seen.append(event["n"])
        while event["n"] == "loop":
            pass
        return {"seen": seen}
  `);
  const strict = pythonSandbox({ limits: hastyPython });
  const run = async (...events: object[]) => shown(await strict.run(program, batch(...events)));
  expect(await run({ n: 1 }, { n: 2 })).toEqual([[{ seen: [1] }], [{ seen: [1, 2] }]]);
  expect(await run({ n: 3 })).toEqual([[{ seen: [1, 2, 3] }]]);
  expect(await run({ n: "loop" }, { n: 4 })).toEqual([
    "Script execution timed out.",
    [{ seen: [4] }],
  ]);
  await strict.close();
});

test("more Python programs than a guest holds take turns", async () => {
  const programs = Array.from({ length: 36 }, (_, n) =>
    python(
      `n = 0\ndef transformEvent(event, metadata):\n    global n\n    n += 1\n    return {"p": ${n}}`,
    ),
  );
  for (const [n, program] of [...programs.entries(), ...programs.entries()]) {
    expect(shown(await sandbox.run(program, batch({})))).toEqual([[{ p: n }]]);
  }
});
