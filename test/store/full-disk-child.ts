/**
 * `bun test/store/full-disk-child.ts DIRECTORY`: commits of many sizes to four stores on a disk
 * that becomes full. Prints how many failed after that, and what the first store says.
 */
import { openView } from "../../src/store/lmdb/view.ts";
import { quiet } from "../log/support.ts";
import { fillDisk } from "../small-disk.ts";

const [directory = ""] = process.argv.slice(2);
const COMMITS = 800;
const stores = Array.from({ length: 4 }, (_, n) =>
  openView({ path: `${directory}/${n}`, name: "The store", logger: quiet }),
);
const tables = stores.map((store) => store.table<string, string>("t"));

for (let n = 0; n < 200; n++) {
  await Promise.all(
    stores.map((store, index) =>
      store.change(() => {
        tables[index]!.put(`k${n}`, "x".repeat(200 + n));
      }),
    ),
  );
}
fillDisk(directory);
let failed = 0;
for (let n = 0; n < COMMITS; n++) {
  await Promise.all(
    stores.map((store, index) =>
      store
        .change(() => {
          const bytes = 100 + 37 * ((n + index) % 90);
          for (let row = 0; row <= n % 40; row++) {
            tables[index]!.put(`z${n}-${row}`, "y".repeat(bytes));
          }
        })
        .catch(() => {
          failed += 1;
        }),
    ),
  );
}
process.stdout.write(`${failed} failed: ${stores[0]!.trouble()}\n`);
process.exit(0);
