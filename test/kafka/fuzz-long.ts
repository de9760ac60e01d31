import {
  answerKindsByRequest,
  mutate,
  Random,
  randomAnswer,
  readAnswer,
  readsMax,
} from "./random-answers.ts";

/**
 * Reads changed answers of brokers: each must end with an answer or an error, in as many steps as
 * it has bytes.
 *
 *   bun test/kafka/fuzz-long.ts [answers of each request, 10000000] [request …]
 */
const total = Number(process.argv[2] ?? 10_000_000);
const names = process.argv.slice(3);
/** Changes of one valid answer, which takes longer to make than to change. */
const CHANGES = 50;

Error.stackTraceLimit = 0;
for (const [request, kinds] of answerKindsByRequest) {
  if (names.length > 0 && !names.includes(request)) continue;
  const random = new Random(Date.now());
  let valid = 0;
  let readsMost = 0;
  for (let done = 0; done < total; ) {
    const kind = random.of(kinds);
    const answer = randomAnswer(kind, random);
    for (let change = 0; change < CHANGES; change++, done++) {
      const bytes = mutate(answer, random);
      const result = readAnswer(kind, bytes);
      if (result.isValid) valid += 1;
      readsMost = Math.max(readsMost, result.reads / (bytes.length + 16));
      if (result.reads > readsMax(kind, bytes.length)) {
        throw new Error(`${kind.name}: ${result.reads} values in ${bytes.toString("hex")}`);
      }
    }
  }
  process.stdout.write(
    `${request}: ${total} answers, ${valid} valid, at most ${readsMost.toFixed(1)} values a byte\n`,
  );
}
