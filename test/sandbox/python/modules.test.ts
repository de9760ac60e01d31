import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { PATIENCE_MS } from "../support.ts";
import { pythonSandbox, runner } from "./support.ts";

setDefaultTimeout(PATIENCE_MS);

const sandbox = pythonSandbox();
afterAll(() => sandbox.close());
const run = runner(sandbox);

/** An expression over each module, and its value as JSON. */
const uses: [module: string, expression: string, value: unknown][] = [
  ["json", "json.loads(json.dumps({'a': [1]}))", { a: [1] }],
  ["re", "re.sub(r'(\\w)-(\\w)', r'\\2-\\1', 'a-b')", "b-a"],
  [
    "datetime",
    "datetime.datetime.strptime('2026-02-03', '%Y-%m-%d').isoformat()",
    "2026-02-03T00:00:00",
  ],
  ["hashlib", "hashlib.md5(b'abc').hexdigest()", "900150983cd24fb0d6963f7d28e17f72"],
  [
    "hashlib",
    "hashlib.sha256(b'').hexdigest()[:8] + hashlib.blake2b(b'').hexdigest()[:4]",
    "e3b0c442786a",
  ],
  ["hmac", "hmac.new(b'k', b'm', 'sha256').hexdigest()[:8]", "b60090e3"],
  ["base64", "base64.b64encode(b'pixel').decode()", "cGl4ZWw="],
  ["math", "math.sqrt(2) > 1.41 and math.floor(-0.5)", -1],
  ["random", "random.Random(1).randint(1, 10**9)", 144272510],
  ["uuid", "str(uuid.uuid5(uuid.NAMESPACE_DNS, 'a'))", "4f3f2898-69e3-5a0d-820a-c4e87987dbce"],
  ["urllib.parse", "urllib.parse.parse_qs('a=1&b=%20')", { a: ["1"], b: [" "] }],
  ["collections", "collections.Counter('aab').most_common(1)", [["a", 2]]],
  ["collections.abc", "isinstance({}, collections.abc.Mapping)", true],
  ["copy", "copy.deepcopy({'a': [1]})", { a: [1] }],
  ["time", "time.gmtime(0).tm_year", 1970],
  ["string", "string.Template('$a!').substitute(a='x')", "x!"],
  ["typing", "typing.get_type_hints(typing.NamedTuple('N', [('a', int)]))['a'].__name__", "int"],
  ["ast", "ast.literal_eval('[1, {\"a\": (2,)}]')", [1, { a: [2] }]],
  [
    "itertools",
    "list(itertools.pairwise([1, 2, 3]))",
    [
      [1, 2],
      [2, 3],
    ],
  ],
  ["functools", "functools.reduce(lambda a, b: a * b, [1, 2, 3, 4])", 24],
  ["operator", "operator.itemgetter('a')({'a': 1})", 1],
  ["decimal", "str(decimal.Decimal('1') / 3)", "0.3333333333333333333333333333"],
  ["fractions", "str(fractions.Fraction(1, 3) * 3)", "1"],
  ["statistics", "statistics.median([3, 1, 2])", 2],
  ["enum", "enum.Enum('E', 'A B').B.value", 2],
  ["dataclasses", "dataclasses.asdict(dataclasses.make_dataclass('D', ['x'])(1))", { x: 1 }],
  ["calendar", "calendar.isleap(2024)", true],
  ["bisect", "bisect.bisect([1, 3], 2)", 1],
  ["heapq", "heapq.nsmallest(1, [3, 1])", [1]],
  ["textwrap", "textwrap.shorten('a b c d', 5, placeholder='')", "a b c"],
  ["html", "html.unescape('&eacute;&amp;')", "é&"],
  ["unicodedata", "len(unicodedata.normalize('NFD', 'é'))", 2],
  ["binascii", "binascii.crc32(b'a')", 3904355907],
  ["struct", "list(struct.unpack('<H', b'\\x01\\x02'))", [513]],
  ["zlib", "zlib.decompress(zlib.compress(b'a')).decode()", "a"],
  ["csv", "next(csv.reader(['a,\"b,c\"']))", ["a", "b,c"]],
  ["ipaddress", "ipaddress.ip_address('10.0.0.1').is_private", true],
  ["secrets", "len(secrets.token_hex(8))", 16],
  ["difflib", "difflib.get_close_matches('appel', ['apple'])", ["apple"]],
  ["contextlib", "contextlib.suppress(ValueError) is not None", true],
  ["_strptime", "_strptime is not None", true],
  ["__future__", "__future__.annotations is not None", true],
];

test.each(uses)("a program imports %s and evaluates %s", async (module, expression, value) => {
  const code = `import ${module}\ndef transformEvent(event, metadata):\n    return {"value": ${expression}}\n`;
  expect(await run(code, {})).toEqual([[{ value }]]);
});

test("every module that is allowed loads, in a first world and in later ones", async () => {
  const text = await Bun.file("src/sandbox/guest/python/runner/allowed_modules.py").text();
  const names = /ALLOWED = frozenset\(\s*"""([^"]+)"""/.exec(text)![1]!.trim().split(/\s+/);
  expect(names.length).toBeGreaterThan(50);
  const imports = names.map((name) => `import ${name}`).join("\n");
  for (let world = 0; world < 3; world += 1) {
    const code = `${imports}\ndef transformEvent(event, metadata):\n    return {"world": ${world}}\n`;
    expect(await run(code, {})).toEqual([[{ world }]]);
  }
});

test("classes of the standard modules are those that the interpreter raises and returns", async () => {
  const code = `
    import json, re, datetime, decimal, dataclasses, typing, collections, copy, zlib, struct, binascii
    @dataclasses.dataclass
    class Point:
        x: "int"
        tags: typing.ClassVar["list"] = []
    def caught(error, attempt):
        try:
            attempt()
        except error:
            return True
    def transformEvent(event, metadata):
        return {
            "json": caught(json.JSONDecodeError, lambda: json.loads("{")),
            "re": caught(re.error, lambda: re.compile("(")),
            "template": caught(re.error, lambda: re.sub("a", r"\\1", "a")),
            "decimal": caught(decimal.InvalidOperation, lambda: decimal.Decimal("x")),
            "zlib": caught(zlib.error, lambda: zlib.decompress(b"x")),
            "struct": caught(struct.error, lambda: struct.unpack("I", b"")),
            "binascii": caught(binascii.Error, lambda: binascii.a2b_base64(b"a")),
            "fields": [field.name for field in dataclasses.fields(Point)],
            "copied": copy.deepcopy(collections.OrderedDict(a=datetime.date(2026, 1, 1)))["a"].isoformat(),
            "pattern": isinstance(copy.copy(re.compile("a")), re.Pattern),
            "flag": isinstance(re.compile("a").flags & re.UNICODE, re.RegexFlag),
        }
  `;
  const right = {
    json: true,
    re: true,
    template: true,
    decimal: true,
    zlib: true,
    struct: true,
    binascii: true,
    fields: ["x"],
    copied: "2026-01-01",
    pattern: true,
    flag: true,
  };
  // In the world that the snapshot holds, and in one of the guest's own making.
  expect(await run(code, {})).toEqual([[right]]);
  expect(await run(code, {})).toEqual([[right]]);
});

test("two guests have different random values, and time continues", async () => {
  const code = `
    import random, uuid, secrets, time
    def transformEvent(event, metadata):
        return {"random": [random.random(), str(uuid.uuid4()), secrets.token_hex(), str(uuid.uuid1())],
                "time": time.time()}
  `;
  const other = pythonSandbox();
  const before = Date.now() / 1_000;
  try {
    const [[first]] = (await run(code, {})) as [[Drawn]];
    const [[second]] = (await runner(other)(code, {})) as [[Drawn]];
    for (const [index, value] of first.random.entries()) {
      expect(second.random[index]).not.toBe(value);
    }
    // Clocks of two processes may be read in different steps.
    expect(first.time).toBeGreaterThan(before - 1);
    expect(first.time).toBeLessThan(Date.now() / 1_000 + 1);
  } finally {
    await other.close();
  }
});

interface Drawn {
  random: unknown[];
  time: number;
}
