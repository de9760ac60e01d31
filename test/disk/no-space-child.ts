import { join } from "node:path";
import { makeMappable } from "../../src/disk/mapped.ts";

/** Makes a file that is longer than the limit under which this process runs. */
process.on("SIGXFSZ", () => {});
try {
  makeMappable(join(process.argv[2]!, "full"), new Uint8Array(16_384));
  process.stdout.write("made\n");
} catch {
  process.stdout.write("refused\n");
}
