/** Opens connections to a port and a new one for each that ends; says so when it has begun. */

import { connect } from "node:net";

const port = Number(process.argv[2]);
const CONNECTIONS = 200;

function open(): void {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.on("close", open);
  socket.resume();
}

for (let index = 0; index < CONNECTIONS; index++) open();
setTimeout(() => process.stdout.write("\n"), 500);
