/** Opens connections to a port, `crowd.ts PORT [COUNT]`, and a new one for each that ends. */

import { connect } from "node:net";

const port = Number(process.argv[2]);
const count = Number(process.argv[3] ?? 200);

function open(): void {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.on("close", open);
  socket.resume();
}

for (let index = 0; index < count; index++) open();
// Whoever started it waits for this line.
setTimeout(() => process.stdout.write("\n"), 500);
