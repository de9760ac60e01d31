/**
 * Posts the content of a file to a URL as fast as it is answered, and prints autocannon's results.
 * Runs under Node, as autocannon's command line does, which reads text files only.
 *
 *   node bench/post-load.mjs URL FILE CONNECTIONS SECONDS HEADERS
 */
import { readFileSync } from "node:fs";
import autocannon from "autocannon";

const [url, file, connections, seconds, headers] = process.argv.slice(2);
const result = await autocannon({
  url,
  method: "POST",
  headers: JSON.parse(headers),
  body: readFileSync(file),
  connections: Number(connections),
  duration: Number(seconds),
});
process.stdout.write(JSON.stringify(result));
