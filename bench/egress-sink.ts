/** Receiver for bench/egress.ts with minimal cost: answers each request of 1 KB with 200. */
const answer = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok";
const lengthLine = /\r\ncontent-length: (\d+)/i;

/** Bytes of the current request that a connection has yet to receive. */
interface Owed {
  bytes: number;
}

const server = Bun.listen<Owed>({
  hostname: "127.0.0.1",
  port: 0,
  socket: {
    open(socket) {
      socket.data = { bytes: 0 };
    },
    data(socket, piece) {
      if (socket.data.bytes === 0) {
        const head = piece.toString("latin1");
        const length = Number(lengthLine.exec(head)?.[1] ?? 0);
        socket.data.bytes = head.indexOf("\r\n\r\n") + 4 + length;
      }
      socket.data.bytes -= piece.length;
      if (socket.data.bytes === 0) socket.write(answer);
    },
  },
});
process.stdout.write(`${server.port}\n`);
