// biome-ignore-all lint: hostile on purpose
// expect: "tried":5,"got":\[\]
import { tries } from "tries";
export const transformEvent = () => {
  const net = process.getBuiltinModule("net");
  const listening = (server) =>
    new Promise((resolve, reject) =>
      server.on("listening", () => resolve("on")).on("error", reject),
    );
  return tries([
    () => Bun.serve({ port: 0, fetch: () => new Response("x") }).port,
    () => Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } }).port,
    () => listening(net.createServer().listen(0)),
    () => listening(net.createServer().listen("\0abstract")),
    () => Bun.udpSocket({}).then((socket) => socket.port),
  ]);
};
