/**
 * Random requests to our HTTP server and to Bun's own, which must take the same for a request.
 *
 *   bun test/http/fuzz-long.ts [requests, 100000]
 */
import { agree } from "./agreement.ts";

const ROUND = 4_000;
const count = Number(process.argv[2] ?? 100_000);
let taken = 0;
for (let done = 0; done < count; done += ROUND) {
  taken += await agree(ROUND, Math.floor(Math.random() * 2 ** 31));
  process.stdout.write(`${done + ROUND} requests agree, ${taken} of them were taken\n`);
}
