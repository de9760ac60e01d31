/**
 * Bare Bun sockets, the lower bound for a server over `Bun.listen`: answers every chunk with the
 * GIF, reads and stores nothing.
 */
import { gif } from "./gif-server.ts";

const head =
  "HTTP/1.1 200 OK\r\ncontent-type: image/gif\r\ncache-control: no-store\r\n" +
  `content-length: ${gif.length}\r\n\r\n`;
const answer = Buffer.concat([Buffer.from(head), gif]);

const server = Bun.listen({
  hostname: "127.0.0.1",
  port: 0,
  socket: { data: (socket) => void socket.write(answer) },
});
process.stdout.write(`${server.port}\n`);
